package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/core"
)

// Upkeep is the maintenance that the tables of a fleet have. The zero value is none, and all that is kept for a week.
type Upkeep struct {
	Kinds  []core.Kind
	Every  time.Duration
	Small  int
	Graces core.Graces
	// Indexed: the tables have an index.
	Indexed bool
	// Unable: the last worker can do nothing but merges.
	Unable bool
	// Users is per mille of the commits of clients that are compactions of their own, Tags of those that come with a tag.
	Users, Tags int
}

func newUpkeep(p Profile) (u Upkeep) {
	r := rand.New(rand.NewPCG(p.Seed, 0x0b_ee9))
	some := func(n int) bool { return r.IntN(n) == 0 }
	if some(2) {
		return u
	}
	for _, k := range []core.Kind{core.KindCleanup, core.KindCompact, core.KindIndex} {
		if !some(4) {
			u.Kinds = append(u.Kinds, k)
		}
	}
	u.Every = time.Duration(1+r.IntN(8)) * time.Minute
	u.Small = 2 + r.IntN(12)
	u.Graces = core.Graces{Reader: time.Duration(1+r.IntN(10)) * time.Minute, Retention: time.Duration(1+r.IntN(15)) * time.Minute}
	u.Indexed = some(2)
	u.Unable = p.Workers > 1 && some(4)
	u.Users, u.Tags = r.IntN(80), r.IntN(20)
	return u
}

func (u Upkeep) String() string {
	if len(u.Kinds) == 0 {
		return ""
	}
	var kinds []string
	for _, k := range u.Kinds {
		kinds = append(kinds, string(k))
	}
	out := fmt.Sprintf("  upkeep: %s every %v, from %d small fragments on; reader grace %v, retention %v; per mille of client commits: compactions %d, tags %d",
		strings.Join(kinds, ", "), u.Every, u.Small, u.Graces.Reader, u.Graces.Retention, u.Users, u.Tags)
	if u.Indexed {
		out += "; tables have an index"
	}
	if u.Unable {
		out += "; the last worker can only merge"
	}
	return out + "\n"
}

// policy is what every table's policy says of its upkeep.
func (u Upkeep) policy() (p core.Policy) {
	if len(u.Kinds) == 0 {
		return p
	}
	every, reader, retention := int64(u.Every/time.Second), int64(u.Graces.Reader/time.Second), int64(u.Graces.Retention/time.Second)
	return core.Policy{Kinds: u.Kinds, MaintenanceSeconds: &every, SmallFragments: &u.Small, ReaderGraceSeconds: &reader, RetentionSeconds: &retention}
}

func (r *run) graces() core.Graces { return r.profile.Upkeep.graces() }

func (u Upkeep) graces() core.Graces {
	if u.Graces == (core.Graces{}) {
		return core.DefaultGraces
	}
	return u.Graces
}

// can are the kinds of maintenance that a worker of the fleet can do.
func (r *run) can(worker int) []core.Kind {
	if u := r.profile.Upkeep; u.Unable && worker == r.profile.Workers-1 {
		return nil
	}
	return []core.Kind{core.KindCleanup, core.KindCompact, core.KindIndex}
}

// kept reports whether everything is done in the end that keeps a table in shape, as far as its policy names it
// and the worker that is whole can do it.
func (r *run) kept(t core.Target) bool {
	u, tb := r.profile.Upkeep, r.w.lake.tables[t]
	if r.ends(t) != core.Owned || len(u.Kinds) == 0 || r.core[1].name == fmt.Sprintf("w%d", r.profile.Workers) && u.Unable {
		return true
	}
	head := tb.head()
	for _, k := range u.Kinds {
		switch k {
		case core.KindCompact:
			if head.Small >= u.Small {
				return false
			}
		case core.KindIndex:
			if head.Uncovered > 0 {
				return false
			}
		}
	}
	return !slices.Contains(u.Kinds, core.KindCleanup) || tb.tidy()
}

// unkept says what is not done to keep a table in shape.
func (r *run) unkept(t core.Target) string {
	if r.kept(t) {
		return ""
	}
	tb := r.w.lake.tables[t]
	listed, unlisted := 0, 0
	for _, s := range tb.shards {
		listed, unlisted = listed+len(s.sstables), unlisted+len(s.unlisted)
	}
	return fmt.Sprintf(", %d small fragments, %d that an index lacks, %d SSTables listed and %d only there", tb.head().Small, tb.head().Uncovered, listed, unlisted)
}

// tidy reports whether no SSTable stands in a manifest that could leave it: one that the base covers, and every
// index, and that no tag needs. What only is there in a copy that somebody has brought back stands in no record of
// ours: that is for whoever looks for files that nothing names.
func (t *table) tidy() bool {
	head := t.head()
	for _, s := range t.shards {
		covered := head.Marks.Of(s.id)
		if head.Indexes > 0 {
			covered = min(covered, head.Indexed.Of(s.id))
		}
		for _, v := range t.versions {
			if _, tagged := t.tags[v.Version]; tagged {
				covered = min(covered, v.Marks.Of(s.id))
			}
		}
		if s.id != t.corrupt && len(s.sstables) > 0 && s.sstables[0].generation <= covered || len(s.unlisted) > 0 && !t.rewritten {
			return false
		}
	}
	return true
}
