package core

import (
	"cmp"
	"slices"
	"strings"
)

// View is what a process knows of the KV's records: a snapshot, kept up to date by changes. It may lag
// behind; every transaction compares what it was judged by, so acting on an old view fails harmlessly.
type View struct {
	Revision Revision
	Targets  map[Target]*TargetView
	Masters  []Seen[MasterRecord] // sorted by key
	Workers  []Seen[WorkerRecord] // sorted by key
	Loads    []Seen[Load]         // sorted by key; hints
	order    []Target             // of Targets, sorted
	segments map[string]Target    // of keys that have come so far
	// merging leaves out what only those look at who schedule and recover; they read it when they need it.
	merging bool
	// Broken are keys whose record can't be read; their target runs nothing (mode unreadable = no merge).
	Broken map[string]bool
}

// TargetView is what is known of one target.
type TargetView struct {
	Table     Seen[TableRecord]
	Owner     Seen[ExecutionID]
	Execution Seen[Execution]
	Admitted  Seen[Watermarks]
	Progress  Seen[Progress]
	Demand    Seen[Demand]
	Latch     Seen[Latch]
	Policy    Seen[Policy]
	Reclaim   Seen[Reclaim]
	Deletes   Seen[Deletes]
	Failures  []Seen[FailureRecord] // sorted by key
	Broken    bool
}

// Seen is a record together with the revision at which it was seen; an absent record has Mod 0.
type Seen[R any] struct {
	Key   string
	Value R
	Raw   string
	Mod   Revision
}

// Present reports whether the record exists.
func (s Seen[R]) Present() bool { return s.Mod != 0 }

// Unchanged compares that the record is still the one that was seen (or still absent).
func (s Seen[R]) Unchanged() Cond { return Unchanged(s.Key, s.Mod) }

// Pointer is the value, or nil if the record is absent.
func (s Seen[R]) Pointer() *R {
	if !s.Present() {
		return nil
	}
	return &s.Value
}

// peek is [Seen.Pointer] to the record itself, which the next change overwrites.
func (s *Seen[R]) peek() *R {
	if !s.Present() {
		return nil
	}
	return &s.Value
}

// NewView is a view that knows nothing.
func NewView() *View {
	return &View{Targets: map[Target]*TargetView{}, segments: map[string]Target{}, Broken: map[string]bool{}}
}

// newWorkerView is an empty view for one who runs executions: he has no use for the demand of tables, nor for
// what his own executions write again and again.
func newWorkerView() *View {
	v := NewView()
	v.merging = true
	return v
}

// ViewOf is the view of a snapshot.
func ViewOf(rev Revision, records []Record) *View {
	v := NewView()
	v.Revision = rev
	for _, r := range records {
		v.put(r)
	}
	return v
}

// Target is what is known of t; never nil.
func (v *View) Target(t Target) *TargetView {
	tv, ok := v.Targets[t]
	if !ok {
		tv = &TargetView{
			Table: absent[TableRecord](TableKey(t)), Owner: absent[ExecutionID](OwnerKey(t)),
			Execution: absent[Execution](ExecutionKey(t)), Admitted: absent[Watermarks](AdmittedKey(t)),
			Progress: absent[Progress](ProgressKey(t)), Demand: absent[Demand](DemandKey(t)),
			Latch: absent[Latch](ModeKey(t)), Policy: absent[Policy](PolicyKey(t)),
			Reclaim: absent[Reclaim](ReclaimKey(t)), Deletes: absent[Deletes](DeletesKey(t)),
		}
		v.Targets[t] = tv
		v.order = insertSorted(v.order, t)
	}
	return tv
}

// named is the target that a segment of a key stands for; ok is false if it stands for none.
func (v *View) named(seg string) (t Target, ok bool) {
	if t, ok = v.segments[seg]; ok {
		return t, true
	}
	t, err := TargetOfSegment(seg)
	if err == nil {
		v.segments[seg] = t
	}
	return t, err == nil
}

// Failure is the budget of an endpoint.
func (tv *TargetView) Failure(t Target, e Endpoint) Seen[FailureRecord] {
	key := FailureKey(t, e)
	for _, f := range tv.Failures {
		if f.Key == key {
			return f
		}
	}
	f := absent[FailureRecord](key)
	f.Value = FailureRecord{Target: t, Endpoint: e}
	return f
}

func absent[R any](key string) Seen[R] { return Seen[R]{Key: key} }

// News is what a batch of changes was about.
type News struct {
	Targets   []Target // sorted
	Processes bool     // a registration of a master or a worker
	Loads     bool     // the room that a worker has
}

// Apply brings the view up to a batch of changes and says what they were about.
func (v *View) Apply(rev Revision, puts []Record, deletes []string) (n News) {
	v.Revision = max(v.Revision, rev)
	for _, r := range puts {
		v.note(r, &n)
	}
	for _, key := range deletes {
		v.note(Record{Key: key}, &n)
	}
	slices.Sort(n.Targets)
	n.Targets = slices.Compact(n.Targets)
	return n
}

func (v *View) note(r Record, n *News) {
	if t, ok := v.put(r); ok {
		n.Targets = append(n.Targets, t)
		return
	}
	switch kind, _, _ := strings.Cut(strings.TrimPrefix(r.Key, Root), "/"); kind {
	case "master", "worker":
		n.Processes = true
	case "load":
		n.Loads = true
	}
}

// put stores one record; one with Mod 0 is a deletion.
func (v *View) put(r Record) (t Target, ok bool) {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(r.Key, Root), "/")
	switch kind {
	case "master":
		v.Masters = setIn(v, v.Masters, r)
		return "", false
	case "worker":
		v.Workers = setIn(v, v.Workers, r)
		return "", false
	case "load":
		v.Loads = setIn(v, v.Loads, r)
		return "", false
	}
	if v.merging && slices.Contains([]string{"owner", "admitted", "progress", "demand", "reclaim", "deletes"}, kind) {
		return "", false
	}
	seg, _, _ := strings.Cut(rest, "/")
	if t, ok = v.named(seg); !ok {
		return "", false // not a record of a target: kv
	}
	tv := v.Target(t)
	switch kind {
	case "table":
		set(v, &tv.Table, r)
	case "owner":
		set(v, &tv.Owner, r)
	case "execution":
		set(v, &tv.Execution, r)
	case "admitted":
		set(v, &tv.Admitted, r)
	case "progress":
		set(v, &tv.Progress, r)
	case "demand":
		set(v, &tv.Demand, r)
	case "mode":
		set(v, &tv.Latch, r)
	case "policy":
		set(v, &tv.Policy, r)
	case "reclaim":
		set(v, &tv.Reclaim, r)
	case "deletes":
		set(v, &tv.Deletes, r)
	case "failure":
		tv.Failures = setIn(v, tv.Failures, r)
	default:
		return "", false // history, takeover: read when asked for
	}
	tv.Broken = v.anyBroken(t)
	return t, true
}

func (v *View) anyBroken(t Target) bool {
	for key := range v.Broken {
		_, rest, _ := strings.Cut(strings.TrimPrefix(key, Root), "/")
		if seg, _, _ := strings.Cut(rest, "/"); seg == t.segment() {
			return true
		}
	}
	return false
}

func set[R any](v *View, s *Seen[R], r Record) {
	delete(v.Broken, r.Key)
	*s = Seen[R]{Key: r.Key, Raw: r.Value, Mod: r.Mod}
	if r.Mod == 0 {
		return
	}
	if err := decodeInto(r.Key, r.Value, &s.Value); err != nil {
		var none R
		s.Value = none
		v.Broken[r.Key] = true
	}
}

func setIn[R any](v *View, list []Seen[R], r Record) []Seen[R] {
	i, ok := slices.BinarySearchFunc(list, r.Key, func(s Seen[R], key string) int { return cmp.Compare(s.Key, key) })
	switch {
	case r.Mod == 0 && ok:
		delete(v.Broken, r.Key)
		return slices.Delete(list, i, i+1)
	case r.Mod == 0:
		return list
	case !ok:
		list = slices.Insert(list, i, Seen[R]{})
	}
	set(v, &list[i], r)
	return list
}
