package main

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/leasing"
	"go.etcd.io/etcd/client/v3/mirror"
)

func lease(ctx context.Context, client *clientv3.Client) error {
	granted, err := client.Grant(ctx, 3)
	if err != nil {
		return err
	}
	fmt.Println("granted", granted.TTL)
	if _, err := client.Put(ctx, "lease/a", "1", clientv3.WithLease(granted.ID)); err != nil {
		return err
	}
	alive, stop := context.WithCancel(ctx)
	defer stop()
	answers, err := client.KeepAlive(alive, granted.ID)
	if err != nil {
		return err
	}
	// Longer than the lease lives by itself.
	until := time.After(5 * time.Second)
	for waiting := true; waiting; {
		select {
		case answer, open := <-answers:
			if !open || answer.TTL != 3 {
				return fmt.Errorf("not kept alive: %v", answer)
			}
		case <-until:
			waiting = false
		}
	}
	left, err := client.TimeToLive(ctx, granted.ID, clientv3.WithAttachedKeys())
	if err != nil {
		return err
	}
	fmt.Println("kept alive", left.TTL > 0, left.GrantedTTL, string(left.Keys[0]))
	watching := client.Watch(ctx, "lease/a")
	stop()
	expired := <-watching
	fmt.Println("expired", expired.Events[0].Type, string(expired.Events[0].Kv.Key))
	_, err = client.KeepAliveOnce(ctx, granted.ID)
	fmt.Println("gone", err == rpctypes.ErrLeaseNotFound)
	_, err = client.Put(ctx, "lease/a", "1", clientv3.WithLease(granted.ID))
	fmt.Println("gone", err == rpctypes.ErrLeaseNotFound)
	return nil
}

func watch(ctx context.Context, client *clientv3.Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	put := func(key, value string) int64 {
		put, err := client.Put(ctx, key, value)
		if err != nil {
			panic(err)
		}
		return put.Header.Revision
	}
	start := put("watch/a", "1")
	put("watch/b", "1")
	put("watch/a", "2")
	if _, err := client.Delete(ctx, "watch/a"); err != nil {
		return err
	}
	live := clientv3.WithRequireLeader(ctx)
	all := client.Watch(live, "watch/", clientv3.WithPrefix(), clientv3.WithRev(start), clientv3.WithPrevKV(), clientv3.WithProgressNotify(), clientv3.WithCreatedNotify())
	fmt.Println("created", (<-all).Created)
	for seen := 0; seen < 4; {
		for _, event := range (<-all).Events {
			previous := "none"
			if event.PrevKv != nil {
				previous = string(event.PrevKv.Value)
			}
			fmt.Println(event.Type, string(event.Kv.Key), string(event.Kv.Value), event.Kv.ModRevision-start, event.Kv.Version, "before:", previous)
			seen++
		}
	}
	revision := put("elsewhere", "1")
	// Asked often enough, the store says how far it is; it says nothing while something is under way.
	for reached := int64(0); reached < revision; {
		if err := client.RequestProgress(live); err != nil {
			return err
		}
		select {
		case response := <-all:
			if !response.IsProgressNotify() {
				return fmt.Errorf("an event that nobody made: %v", response)
			}
			reached = response.Header.Revision
		case <-time.After(100 * time.Millisecond):
		}
	}
	fmt.Println("progress")
	deletions := client.Watch(ctx, "watch/", clientv3.WithPrefix(), clientv3.WithRev(start), clientv3.WithFilterPut())
	fmt.Println("only deletions:", (<-deletions).Events[0].Type)
	several := client.Watch(ctx, "watch/a", clientv3.WithRange("watch/c"))
	if _, err := client.Txn(ctx).Then(clientv3.OpPut("watch/a", "3"), clientv3.OpPut("watch/b", "3"), clientv3.OpPut("watch/z", "3")).Commit(); err != nil {
		return err
	}
	fmt.Println("of one revision:", len((<-several).Events), len((<-all).Events))
	return nil
}

func compacted(ctx context.Context, client *clientv3.Client) error {
	var revision int64
	for _, value := range []string{"1", "2", "3"} {
		put, err := client.Put(ctx, "compacted/a", value)
		if err != nil {
			return err
		}
		revision = put.Header.Revision
	}
	if _, err := client.Compact(ctx, revision-1); err != nil {
		return err
	}
	_, err := client.Compact(ctx, revision-1)
	fmt.Println("again", err == rpctypes.ErrCompacted)
	_, err = client.Compact(ctx, revision+100)
	fmt.Println("future", err == rpctypes.ErrFutureRev)
	_, err = client.Get(ctx, "compacted/a", clientv3.WithRev(revision-2))
	fmt.Println("read", err == rpctypes.ErrCompacted)
	old := <-client.Watch(ctx, "compacted/a", clientv3.WithRev(revision-2))
	fmt.Println("watch", old.Err() == rpctypes.ErrCompacted, old.CompactRevision == revision-1, old.Canceled)
	edge := <-client.Watch(ctx, "compacted/a", clientv3.WithRev(revision-1))
	fmt.Println("at the edge", edge.Err(), string(edge.Events[0].Kv.Value))
	return nil
}

func fragments(ctx context.Context, client *clientv3.Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	value := string(make([]byte, 100*1024))
	start := int64(0)
	for number := range 40 {
		put, err := client.Put(ctx, fmt.Sprintf("fragments/%02d", number), value)
		if err != nil {
			return err
		}
		if start == 0 {
			start = put.Header.Revision
		}
	}
	events, last := 0, ""
	watching := client.Watch(ctx, "fragments/", clientv3.WithPrefix(), clientv3.WithRev(start), clientv3.WithFragment())
	for events < 40 {
		response := <-watching
		if err := response.Err(); err != nil {
			return err
		}
		for _, event := range response.Events {
			if string(event.Kv.Key) <= last {
				return fmt.Errorf("%s after %s", event.Kv.Key, last)
			}
			last = string(event.Kv.Key)
			events++
		}
	}
	fmt.Println("events", events, last)
	return nil
}

func mirrored(ctx context.Context, client *clientv3.Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for number := range 2500 {
		if _, err := client.Put(ctx, fmt.Sprintf("mirror/%04d", number), "1"); err != nil {
			return err
		}
	}
	syncer := mirror.NewSyncer(client, "mirror/", 0)
	base, errors := syncer.SyncBase(ctx)
	pages, keys := 0, 0
	for page := range base {
		pages++
		keys += len(page.Kvs)
	}
	if err := <-errors; err != nil {
		return err
	}
	fmt.Println("base", pages, keys)
	updates := syncer.SyncUpdates(ctx)
	if _, err := client.Put(ctx, "mirror/0007", "2"); err != nil {
		return err
	}
	if _, err := client.Delete(ctx, "mirror/0008"); err != nil {
		return err
	}
	for seen := 0; seen < 2; {
		for _, event := range (<-updates).Events {
			fmt.Println("update", event.Type, string(event.Kv.Key), string(event.Kv.Value))
			seen++
		}
	}
	return nil
}

func leased(ctx context.Context, client *clientv3.Client) error {
	first, closeFirst, err := leasing.NewKV(client, "leasing/")
	if err != nil {
		return err
	}
	defer closeFirst()
	second, closeSecond, err := leasing.NewKV(client, "leasing/")
	if err != nil {
		return err
	}
	defer closeSecond()
	if _, err := first.Put(ctx, "leased/a", "1"); err != nil {
		return err
	}
	for turn, kv := range []clientv3.KV{first, second, first, second} {
		got, err := kv.Get(ctx, "leased/a")
		if err != nil {
			return err
		}
		fmt.Println("read", string(got.Kvs[0].Value))
		if _, err := kv.Put(ctx, "leased/a", fmt.Sprint(turn+2)); err != nil {
			return err
		}
	}
	return nil
}

func maintenance(ctx context.Context, client *clientv3.Client) error {
	endpoint := client.Endpoints()[0]
	status, err := client.Status(ctx, endpoint)
	if err != nil {
		return err
	}
	fmt.Println("status", status.Header.MemberId == status.Leader, status.DbSize > 0, len(status.Errors))
	hash, err := client.HashKV(ctx, endpoint, 0)
	if err != nil {
		return err
	}
	again, err := client.HashKV(ctx, endpoint, hash.Header.Revision)
	if err != nil {
		return err
	}
	fmt.Println("hash", hash.Hash == again.Hash)
	alarms, err := client.AlarmList(ctx)
	if err != nil {
		return err
	}
	fmt.Println("alarms", len(alarms.Alarms))
	members, err := client.MemberList(ctx)
	if err != nil {
		return err
	}
	fmt.Println("members", len(members.Members), members.Members[0].Name)
	if _, err := client.Defragment(ctx, endpoint); err != nil {
		return err
	}
	users, err := client.UserList(ctx)
	if err != nil {
		return err
	}
	fmt.Println("users", len(users.Users))
	_, err = client.AuthEnable(ctx)
	fmt.Println("auth", err)
	_, err = client.MoveLeader(ctx, 1)
	fmt.Println("move", err)
	return client.Sync(ctx)
}
