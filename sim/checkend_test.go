package sim

import (
	"strings"
	"testing"

	"github.com/sluice-data/sluice/core"
)

// What is broken when the faults end stays so; a run in which something of it is mended says what.
func TestWhatIsMendedAfterTheFaultsIsNoticed(t *testing.T) {
	t.Parallel()
	p := newProfile(1, 1)
	p.Masters, p.Workers = 2, 2
	r := newRun(p, newSource(1), nil)
	for _, victim := range r.w.procs {
		if victim.name != r.names[0] && victim.name != r.names[1] {
			r.w.kill(victim)
			r.w.cuts[way{victim.name, r.names[0]}.String()] = true
		}
	}
	r.heal()
	if is := r.mended(); is != "" {
		t.Fatalf("nothing was mended, and it says %q", is)
	}
	for _, victim := range r.w.procs {
		if victim.machine == nil {
			r.w.boot(victim)
			break
		}
	}
	if is := r.mended(); !strings.Contains(is, "dead or stopped") {
		t.Errorf("a process was started again, and it says %q", is)
	}
}

// A reader who has opened a table sees the same rows within its grace, whatever is merged meanwhile, and the check of
// that notices what would be gone or otherwise.
func TestAReaderNoticesWhatIsGone(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		do   func(*table)
		want string
	}{
		{"a merge hides nothing from it", func(tb *table) { merge(tb, 3) }, ""},
		{"a merge and a flush hide nothing from it", func(tb *table) { merge(tb, 2); tb.flush(tb.shards[0]) }, ""},
		{"a generation is dropped under it", func(tb *table) { s := tb.shards[0]; s.sstables = s.sstables[1:] }, "invariant 10"},
		{"its version is overwritten", func(tb *table) { tb.versions[0].rows = map[string]string{"x": "y"} }, "invariant 4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			tb := newTable(1)
			for range 3 {
				tb.flush(tb.shards[0])
			}
			o := tb.open()
			test.do(tb)
			w.checks.reader("db", o)
			if got := strings.Join(w.checks.broken, "; "); !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
				t.Errorf("want %q, the check says %q", test.want, got)
			}
		})
	}
}

// merge brings the rows of the first generations of the first shard into the base.
func merge(tb *table, upTo core.Generation) {
	m, rows := tb.head().BaseManifest, map[string]string{}
	for _, st := range tb.shards[0].sstables[:upTo] {
		overlay(rows, st.rows)
	}
	m.Version++
	m.Marks = m.Marks.With(tb.shards[0].id, upTo)
	tb.publish(m, rows, "a merge")
}

// No transaction deletes what is none of its business.
func TestADeleteThatNobodyMayMakeIsNoticed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		txn  core.Txn
		ok   bool
	}{
		{"a post may empty the demand", core.Txn{Name: "post-demand", Then: []core.Op{core.Delete(core.DemandKey("db"))}}, true},
		{"a person may take the latch away", core.Txn{Name: "mode", Then: []core.Op{core.Delete(core.ModeKey("db"))}}, true},
		{"a release may not forget a table", core.Txn{Name: "release", Then: []core.Op{core.Delete(core.TableKey("db"))}}, false},
		{"a look may not take demand for served", core.Txn{Name: "charge", Then: []core.Op{core.Delete(core.DemandKey("db"))}}, false},
		{"an adoption may not drop a policy", core.Txn{Name: "end-adoption", Then: []core.Op{core.Delete(core.PolicyKey("db"))}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			op := test.txn.Then[0]
			w.checks.deleted(test.txn, op, map[string]core.Record{op.Key: {Key: op.Key, Value: "{}", Mod: 3}})
			if clean := len(w.checks.broken) == 0; clean != test.ok {
				t.Errorf("want ok %v, the check says %v", test.ok, w.checks.broken)
			}
		})
	}
}
