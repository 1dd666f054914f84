package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-data/sluice/core"
)

// everything is the whole state of a world, in an order that does not change: what `sluice sim replay --until` shows.
func (r *run) everything() string {
	var b strings.Builder
	w := r.w
	fmt.Fprintf(&b, "%v of virtual time, %d steps\n", time.Duration(w.now).Round(time.Millisecond), w.steps)
	for _, p := range w.procs {
		fmt.Fprintf(&b, "process %s: %s\n", p.name, w.process1(p))
	}
	for _, c := range sortedKeys(w.cuts) {
		fmt.Fprintf(&b, "cut: %s\n", c)
	}
	fmt.Fprintf(&b, "KV at revision %d%s\n", w.kv.rev, map[bool]string{true: ", away"}[w.kvDown])
	for _, rec := range w.kv.Read(core.Everything()) {
		fmt.Fprintf(&b, "  %s (%d) %s\n", rec.Key, rec.Mod, rec.Value)
	}
	if w.lake.down {
		b.WriteString("the lake is away\n")
	}
	for _, t := range w.lake.order {
		r.tableState(&b, t, w.lake.tables[t])
	}
	fmt.Fprintf(&b, "%d messages and alarms are on their way", w.queue.len())
	if next, ok := w.queue.next(); ok {
		fmt.Fprintf(&b, ", the next in %v", next.Since(w.now))
	}
	b.WriteString("\n")
	for _, id := range sortedKeys(w.gate) {
		a := w.gate[id]
		where := "held by the gate"
		if a.sent {
			where = "in storage's hands"
		}
		fmt.Fprintf(&b, "v%d of %s by %s is %s\n", a.body.Version, a.target, a.by(), where)
	}
	if w.plot != nil {
		fmt.Fprintf(&b, "on %s awaits: %s\n", w.plot.target, schemeNames[w.plot.what])
	}
	return b.String()
}

// process1 is one process in a line.
func (w *world) process1(p *process) string {
	is := p.ails()
	if p.machine == nil {
		return strings.Join(append(is, "life "+fmt.Sprint(p.life)), ", ")
	}
	is = append(is, fmt.Sprintf("instance %s, has seen revision %d", p.id, p.seen))
	if next, ok := p.wants(); ok {
		is = append(is, fmt.Sprintf("wants a tick in %v", max(0, next.Since(w.now))))
	}
	switch m := p.machine.(type) {
	case *core.Master:
		for _, t := range sortedKeys(w.lake.tables) {
			is = append(is, fmt.Sprintf("%s does not run: %q", t, m.Why(t)))
		}
	case *core.Worker:
		l := m.Load()
		is = append(is, fmt.Sprintf("%d executions, %d slots and %d bytes free", l.Active, l.Slots, l.Bytes))
	}
	for _, t := range sortedKeys(p.engines) {
		if en := p.engines[t]; !en.dead {
			is = append(is, fmt.Sprintf("an engine of %s works for %s, %d tries", t, en.name(), en.tries))
		}
	}
	return strings.Join(is, "; ")
}

func (r *run) tableState(b *strings.Builder, name core.Target, t *table) {
	if t == nil || t.gone {
		fmt.Fprintf(b, "table %s is dropped\n", name)
		return
	}
	head := t.head()
	fmt.Fprintf(b, "table %s: %s; id %q, %d small fragments, %d without index\n", name, t.describe(), head.TableID, head.Small, head.Uncovered)
	for _, v := range t.versions[max(0, len(t.versions)-8):] {
		fmt.Fprintf(b, "  v%d %s by %s, marks %v\n", v.Version, v.Operation, v.by, v.Marks)
	}
	for _, s := range t.shards {
		var listed []string
		for _, st := range s.sstables[max(0, len(s.sstables)-8):] {
			listed = append(listed, fmt.Sprint(st.generation))
		}
		fmt.Fprintf(b, "  shard %s at v%d: %d SSTables, the last %s; %d only there\n", s.id, s.version, len(s.sstables), strings.Join(listed, " "), len(s.unlisted))
	}
	if tags := sortedKeys(t.tags); len(tags) > 0 {
		fmt.Fprintf(b, "  tagged: %v\n", tags)
	}
}
