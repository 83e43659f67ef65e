package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// sessions opens so many, each with a lease of its own that is kept alive.
func sessions(client *clientv3.Client, count int) ([]*concurrency.Session, func(), error) {
	var all []*concurrency.Session
	closeAll := func() {
		for _, session := range all {
			session.Close()
		}
	}
	for range count {
		session, err := concurrency.NewSession(client, concurrency.WithTTL(10))
		if err != nil {
			return nil, closeAll, err
		}
		all = append(all, session)
	}
	return all, closeAll, nil
}

// all runs a function several times at once and returns the first error.
func all(count int, run func(int) error) error {
	errors := make(chan error, count)
	var group sync.WaitGroup
	for number := range count {
		group.Add(1)
		go func() {
			defer group.Done()
			errors <- run(number)
		}()
	}
	group.Wait()
	close(errors)
	for err := range errors {
		if err != nil {
			return err
		}
	}
	return nil
}

func number(ctx context.Context, client *clientv3.Client, key string) (int, error) {
	got, err := client.Get(ctx, key)
	if err != nil || len(got.Kvs) == 0 {
		return 0, err
	}
	return strconv.Atoi(string(got.Kvs[0].Value))
}

func mutex(ctx context.Context, client *clientv3.Client) error {
	four, done, err := sessions(client, 4)
	defer done()
	if err != nil {
		return err
	}
	first, second := concurrency.NewMutex(four[0], "mutex/one"), concurrency.NewMutex(four[1], "mutex/one")
	if err := first.Lock(ctx); err != nil {
		return err
	}
	fmt.Println("while it is held:", second.TryLock(ctx))
	if err := first.Unlock(ctx); err != nil {
		return err
	}
	fmt.Println("afterwards:", second.TryLock(ctx))
	fmt.Println("unlocked:", second.Unlock(ctx))

	// Read, add, write: without the lock some of these would be lost.
	err = all(4, func(worker int) error {
		lock := concurrency.NewMutex(four[worker], "mutex/counter")
		for range 8 {
			if err := lock.Lock(ctx); err != nil {
				return err
			}
			count, err := number(ctx, client, "mutex/count")
			if err != nil {
				return err
			}
			if _, err := client.Put(ctx, "mutex/count", strconv.Itoa(count+1)); err != nil {
				return err
			}
			if err := lock.Unlock(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	count, err := number(ctx, client, "mutex/count")
	fmt.Println("counted", count)
	if err != nil {
		return err
	}
	// A session that ends gives its locks free.
	if err := concurrency.NewMutex(four[0], "mutex/left").Lock(ctx); err != nil {
		return err
	}
	if err := four[0].Close(); err != nil {
		return err
	}
	fmt.Println("after its holder:", concurrency.NewMutex(four[1], "mutex/left").Lock(ctx))
	return nil
}

func election(ctx context.Context, client *clientv3.Client) error {
	three, done, err := sessions(client, 3)
	defer done()
	if err != nil {
		return err
	}
	first := concurrency.NewElection(three[0], "election")
	if _, err := first.Leader(ctx); err == concurrency.ErrElectionNoLeader {
		fmt.Println("nobody leads yet")
	}
	if err := first.Campaign(ctx, "first"); err != nil {
		return err
	}
	observed := concurrency.NewElection(three[2], "election").Observe(ctx)
	fmt.Println("leads", string((<-observed).Kvs[0].Value))
	second := concurrency.NewElection(three[1], "election")
	elected := make(chan error, 1)
	go func() { elected <- second.Campaign(ctx, "second") }()
	if err := first.Proclaim(ctx, "first, again"); err != nil {
		return err
	}
	fmt.Println("leads", string((<-observed).Kvs[0].Value))
	select {
	case <-elected:
		return fmt.Errorf("two lead")
	default:
	}
	if err := first.Resign(ctx); err != nil {
		return err
	}
	if err := <-elected; err != nil {
		return err
	}
	fmt.Println("leads", string((<-observed).Kvs[0].Value))
	leader, err := second.Leader(ctx)
	if err != nil {
		return err
	}
	fmt.Println("asked", string(leader.Kvs[0].Value))
	return second.Resign(ctx)
}

func stm(ctx context.Context, client *clientv3.Client) error {
	const accounts, each = 5, 100
	for _, isolation := range []concurrency.Isolation{concurrency.SerializableSnapshot, concurrency.Serializable} {
		for account := range accounts {
			if _, err := client.Put(ctx, fmt.Sprint("stm/", account), strconv.Itoa(each)); err != nil {
				return err
			}
		}
		err := all(4, func(worker int) error {
			for turn := range 10 {
				from, to := fmt.Sprint("stm/", (worker+turn)%accounts), fmt.Sprint("stm/", (worker+2*turn+1)%accounts)
				transfer := func(stm concurrency.STM) error {
					if from == to {
						return nil
					}
					left, _ := strconv.Atoi(stm.Get(from))
					right, _ := strconv.Atoi(stm.Get(to))
					stm.Put(from, strconv.Itoa(left-turn))
					stm.Put(to, strconv.Itoa(right+turn))
					return nil
				}
				_, err := concurrency.NewSTM(client, transfer, concurrency.WithAbortContext(ctx), concurrency.WithIsolation(isolation))
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		sum := 0
		for account := range accounts {
			value, err := number(ctx, client, fmt.Sprint("stm/", account))
			if err != nil {
				return err
			}
			fmt.Println("account", account, value)
			sum += value
		}
		fmt.Println("sum", sum)
	}
	return nil
}
