package coracletest

import (
	"context"
	"time"
)

// Clock is the clock of a cluster. A test advances it if the time is [Stepped].
type Clock struct {
	env *Env
}

// Now is the time of the cluster.
func (c *Clock) Now() time.Time {
	c.env.t.Helper()
	return call(c.env, "clock", c.env.Control.Now)
}

// Advance advances the clock, and returns its time. All timers up to then fire in their order.
func (c *Clock) Advance(duration time.Duration) time.Time {
	c.env.t.Helper()
	return call(c.env, "advance", func(ctx context.Context) (time.Time, error) {
		return c.env.Control.Advance(ctx, duration)
	})
}

// AdvanceUntil advances the clock until an object has all fields of this partial one, and returns the time. If that takes
// longer than `within`, the test fails and shows what there is. The object is a text in YAML, a map, or an object of client-go.
// Of a typed object the fields with zero values do not count: use YAML to demand `replicas: 0`.
func (c *Clock) AdvanceUntil(object any, within time.Duration) time.Time {
	c.env.t.Helper()
	return c.until(object, false, within)
}

// AdvanceUntilAbsent advances the clock until no object has all fields of this partial one.
func (c *Clock) AdvanceUntilAbsent(object any, within time.Duration) time.Time {
	c.env.t.Helper()
	return c.until(object, true, within)
}

func (c *Clock) until(object any, absent bool, within time.Duration) time.Time {
	c.env.t.Helper()
	partial, err := partialOf(object)
	if err != nil {
		c.env.t.Fatalf("%v", err)
	}
	return call(c.env, "advance", func(ctx context.Context) (time.Time, error) {
		return c.env.Control.AdvanceUntil(ctx, partial, absent, within)
	})
}
