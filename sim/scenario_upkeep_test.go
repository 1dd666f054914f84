package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-data/sluice/core"
)

// The verbs about maintenance.
func init() {
	verbs["tag"], verbs["index"], verbs["compacts"] = (*stage).tag, (*stage).index, (*stage).compacts
	verbs["storage"], verbs["upkeep"], verbs["goback"] = (*stage).storage, (*stage).upkeep, (*stage).goback
}

// kinds=compact,index: the maintenance that the workers can do; without it, all of it.
func kinds(c command) (out []core.Kind) {
	list, set := c.set["kinds"]
	if !set {
		list = "compact,index,cleanup"
	}
	for name := range strings.SplitSeq(list, ",") {
		if k := core.Kind(name); k.Maintains() {
			out = append(out, k)
		}
	}
	return out
}

// policyUpkeep reads kinds=cleanup every=60 small=2 grace=60 retention=120.
func policyUpkeep(c command, p *core.Policy) {
	if _, set := c.set["kinds"]; !set {
		return
	}
	every, grace, retention := int64(c.number("every", 60)), int64(c.number("grace", 60)), int64(c.number("retention", 60))
	small := c.number("small", 2)
	p.Kinds, p.SmallFragments = kinds(c), &small
	p.MaintenanceSeconds, p.ReaderGraceSeconds, p.RetentionSeconds = &every, &grace, &retention
}

// tag events: a user tags the head
func (s *stage) tag(c command) error {
	t, err := s.table(c)
	if err == nil {
		t.tag(0, s.w.now)
	}
	return err
}

// index events: the table gets an index that has taken in nothing yet
func (s *stage) index(c command) error {
	t, err := s.table(c)
	if err == nil {
		t.index()
	}
	return err
}

// compacts events: a user compacts it
func (s *stage) compacts(c command) error {
	t, err := s.table(c)
	if err == nil {
		t.compacts()
		s.w.say("lake", "%s: v%d by a client, a compaction", c.object(0), t.head().Version)
	}
	return err
}

// goback events 2: a user restores the version that many before the head
func (s *stage) goback(c command) error {
	t, err := s.table(c)
	if err != nil {
		return err
	}
	if !t.restore(c.number("versions", 1), 24*time.Hour) {
		return fmt.Errorf("that version is not kept")
	}
	s.w.say("lake", "%s: v%d by a client, a restore", c.object(0), t.head().Version)
	return nil
}

// storage late=20m | never: what becomes of the next write but manifests of the base
func (s *stage) storage(c command) error {
	outer := s.w.faults.put
	fate := putFate{never: c.object(0) == "never", lands: c.duration(c.set["late"], 0)}
	s.w.faults.put = func(string) putFate {
		s.w.faults.put = outer
		return fate
	}
	return nil
}

// upkeep events: what there is to see of a table's shape
func (s *stage) upkeep(c command) error {
	t, err := s.table(c)
	if err != nil {
		return err
	}
	listed, unlisted := 0, 0
	for _, sh := range t.shards {
		listed, unlisted = listed+len(sh.sstables), unlisted+len(sh.unlisted)
	}
	s.w.say("=", "%s: %d SSTables listed, %d only there, %d small fragments, %d without index", c.object(0), listed, unlisted, t.head().Small, t.head().Uncovered)
	for _, k := range Get[core.Demand](s.w.kv, core.DemandKey(core.Target(c.object(0)))).Kinds {
		s.w.say("=", "%s: demand for %s", c.object(0), k.Kind)
	}
	return nil
}
