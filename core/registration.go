package core

import "time"

// registration keeps a process's leased record in the KV. The record is constant for an instance; it is
// written again only when it has gone, never to renew it.
type registration struct {
	Key, Value string
	// Beside is written with it, if set: another leased record that must not be missing while it stands.
	Beside Op
	await  EffectID
	retry  alarm
	live   bool
}

// changed looks whether the record stands as it should.
func (r *registration) changed(raw string, o *outbox) {
	r.live = raw == r.Value
	if !r.live && r.await == 0 && !r.retry.Set {
		r.write(o)
	}
}

// standing is the text of a registration among those that are seen; "" if it is not there.
func standing[R any](seen []Seen[R], key string) string {
	for _, s := range seen {
		if s.Key == key {
			return s.Raw
		}
	}
	return ""
}

// write puts the record if the name is free. A second process with the same name waits until the first
// is gone.
func (r *registration) write(o *outbox) {
	then := []Op{PutLeased(r.Key, r.Value)}
	if r.Beside.Key != "" {
		then = append(then, r.Beside)
	}
	r.await = o.commit(Txn{Name: "register", If: []Cond{Absent(r.Key)}, Then: then})
}

// answered reports whether the event was the answer that it waited for.
func (r *registration) answered(at Moment, ev Event) bool {
	c, ok := ev.(Committed)
	if !ok || r.await == 0 || c.Effect != r.await {
		return false
	}
	r.await = 0
	// Also after a success: the record may have gone again while its answer was on its way.
	r.retry = alarmAt(at.Mono.Add(time.Second))
	return true
}

func (r *registration) tick(at Moment, o *outbox) {
	if r.retry.due(at.Mono) {
		r.retry = alarm{}
		if !r.live && r.await == 0 {
			r.write(o)
		}
	}
}

func (r *registration) alarm() alarm { return r.retry }
