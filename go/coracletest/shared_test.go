package coracletest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/coracle-dev/coracle/go/coracletest"
)

func TestEachTestHasTheStateAfterTheStart(t *testing.T) {
	var hosts []string
	for i := range 3 {
		t.Run("in turn", func(t *testing.T) {
			env := coracletest.Shared(t)
			hosts = append(hosts, env.Config.Host)
			create(t, env, fmt.Sprintf("of-%d", i))
			if found := names(t, env); len(found) != 1 {
				t.Errorf("there are %v", found)
			}
		})
	}
	if len(slices.Compact(hosts)) != 1 {
		t.Errorf("tests in turn had the servers %v", hosts)
	}
}

func TestAClusterThatAnotherTestHasIsForked(t *testing.T) {
	// Two clusters that are in use at the same time, as those of parallel tests.
	first := coracletest.Shared(t)
	create(t, first, "of-the-first")
	second := coracletest.Shared(t)
	create(t, second, "of-the-second")
	if found := names(t, first); !slices.Equal(found, []string{"of-the-first"}) {
		t.Errorf("the first has %v", found)
	}
	if found := names(t, second); !slices.Equal(found, []string{"of-the-second"}) {
		t.Errorf("the second has %v", found)
	}
	second.Clock.Advance(time.Hour)
	if first.Clock.Now().Equal(second.Clock.Now()) {
		t.Error("the two have one clock")
	}
}
