package main

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/namespace"
	"go.etcd.io/etcd/client/v3/ordering"
)

func kv(ctx context.Context, client *clientv3.Client) error {
	for _, key := range []string{"kv/b", "kv/a", "kv/c"} {
		put, err := client.Put(ctx, key, "1")
		if err != nil {
			return err
		}
		fmt.Println("put", key, put.Header.Revision)
	}
	put, err := client.Put(ctx, "kv/a", "2", clientv3.WithPrevKV())
	if err != nil {
		return err
	}
	fmt.Println("previous", string(put.PrevKv.Value), put.PrevKv.Version)
	show := func(what string, options ...clientv3.OpOption) error {
		got, err := client.Get(ctx, "kv/", options...)
		if err != nil {
			return err
		}
		for _, kv := range got.Kvs {
			fmt.Println(what, string(kv.Key), string(kv.Value), kv.CreateRevision, kv.ModRevision, kv.Version)
		}
		fmt.Println(what, "count", got.Count, "more", got.More)
		return nil
	}
	for _, err := range []error{
		show("all", clientv3.WithPrefix()),
		show("page", clientv3.WithPrefix(), clientv3.WithLimit(2)),
		show("keys", clientv3.WithPrefix(), clientv3.WithKeysOnly()),
		show("counted", clientv3.WithPrefix(), clientv3.WithCountOnly()),
		show("past", clientv3.WithPrefix(), clientv3.WithRev(put.Header.Revision-1)),
		show("by value", clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByValue, clientv3.SortDescend)),
		show("first created", clientv3.WithFirstCreate()...),
		show("last changed", clientv3.WithLastRev()...),
		show("recent", clientv3.WithPrefix(), clientv3.WithMinModRev(put.Header.Revision)),
		show("serializable", clientv3.WithPrefix(), clientv3.WithSerializable()),
	} {
		if err != nil {
			return err
		}
	}
	inner := clientv3.OpTxn(
		[]clientv3.Cmp{clientv3.Compare(clientv3.Value("kv/b"), "=", "1")},
		[]clientv3.Op{clientv3.OpDelete("kv/b", clientv3.WithPrevKV())}, nil)
	txn, err := client.Txn(ctx).
		If(clientv3.Compare(clientv3.Version("kv/").WithPrefix(), ">", 0), clientv3.Compare(clientv3.ModRevision("no"), "=", 0)).
		Then(clientv3.OpPut("kv/d", "3"), inner, clientv3.OpGet("kv/", clientv3.WithPrefix(), clientv3.WithCountOnly())).
		Else(clientv3.OpGet("kv/d")).
		Commit()
	if err != nil {
		return err
	}
	deleted := txn.Responses[1].GetResponseTxn().Responses[0].GetResponseDeleteRange()
	fmt.Println("txn", txn.Succeeded, deleted.Deleted, string(deleted.PrevKvs[0].Value), txn.Responses[2].GetResponseRange().Count)
	_, err = client.Txn(ctx).Then(clientv3.OpPut("kv/x", "1"), clientv3.OpPut("kv/x", "2")).Commit()
	fmt.Println("twice", err == rpctypes.ErrDuplicateKey)
	_, err = client.Put(ctx, "", "1")
	fmt.Println("no key", err == rpctypes.ErrEmptyKey)
	_, err = client.Get(ctx, "kv/a", clientv3.WithRev(1<<40))
	fmt.Println("future", err == rpctypes.ErrFutureRev)
	_, err = client.Put(ctx, "kv/a", string(make([]byte, 1600*1024)))
	fmt.Println("too large", err == rpctypes.ErrRequestTooLarge)

	inside := namespace.NewKV(client.KV, "kv/space/")
	if _, err := inside.Put(ctx, "x", "1"); err != nil {
		return err
	}
	got, err := client.Get(ctx, "kv/space/x")
	if err != nil {
		return err
	}
	fmt.Println("namespaced", got.Count)
	ordered := ordering.NewKV(client.KV, func(clientv3.Op, clientv3.OpResponse, int64) error { return ordering.ErrNoGreaterRev })
	for range 20 {
		if _, err := ordered.Get(ctx, "kv/space/x", clientv3.WithSerializable()); err != nil {
			return err
		}
	}
	removed, err := client.Delete(ctx, "kv/", clientv3.WithPrefix())
	if err != nil {
		return err
	}
	fmt.Println("deleted", removed.Deleted)
	return nil
}
