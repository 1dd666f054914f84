package core

import (
	"fmt"

	"github.com/sluice-data/sluice/guard"
)

// A fence is a commit that changes no row and occupies an admitted version, so that a late commit of
// that version must fail. Fencing up to the watermark is enough: Lance commits target the latest version
// they saw + 1 ≤ the true latest + 1, each try is one PUT that needs one Admit, and numbers have no gaps;
// once latest ≥ watermark no admitted PUT of the execution can land. A fence of a recoverer that slept
// in between is harmless for the same reason.

// NextFence is the next version of r to occupy for e's recovery, after a look at the table; done is true
// when every admitted version is occupied already.
//
// The table is looked at again before each fence: its id must be the execution's, its latest version may
// not lie below what Start saw, and its writer flags must be known; otherwise ownership stays.
func NextFence(e Execution, t Table, w Watermark) (next Version, done bool, f Failure) {
	if f := SameTable(e, t); !f.OK() {
		return 0, false, f
	}
	latest := t.Latest(w.Resource)
	if latest >= w.Version || guard.Out(guard.FenceOneShort) && latest+1 >= w.Version {
		return 0, true, Failure{}
	}
	if w.Resource == Base && t.Base.UnknownFlags != 0 {
		return 0, false, Failure{Code: CodeTableFormat, Detail: fmt.Sprintf("the table has writer feature flags %#x that this program does not know: a newer Sluice, or any commit up to version %d, ends this", t.Base.UnknownFlags, w.Version)}
	}
	return latest + 1, false, Failure{}
}

// SameTable checks that the table is the one that the execution was started on, and no older.
func SameTable(e Execution, t Table) Failure {
	if f := SameIdentity(e.TableID, e.Scheme, t.Base); !f.OK() {
		return f
	}
	if t.Base.Version < e.BaseVersion {
		return wentBack(e.Target, t.Base.Version, e.BaseVersion)
	}
	return Failure{}
}

// wentBack is the failure of a table that shows less than it did.
func wentBack(t Target, shows, seen Version) Failure {
	return Failure{Code: CodeLakeWentBack, Detail: fmt.Sprintf("the lake shows version %d of %s, but %d was there before: it was restored from an older copy or dropped and made again; run `sluice adopt %s` when it is as you want it", shows, t, seen, t)}
}

// SameIdentity checks that a base manifest belongs to the table with this id and naming scheme.
func SameIdentity(id TableID, scheme NamingScheme, b BaseManifest) Failure {
	switch {
	case b.TableID == "" && id != "":
		return Failure{Code: CodeTableReplaced, Detail: fmt.Sprintf("the table carries no %s, but %s was there before: it was dropped and made again, or its metadata were replaced", TableIDKey, id)}
	case b.TableID != id:
		return Failure{Code: CodeTableReplaced, Detail: fmt.Sprintf("another table stands at this path: %s %s, not %s", TableIDKey, b.TableID, id)}
	case b.Scheme != scheme:
		return Failure{Code: CodeTableFormat, Detail: fmt.Sprintf("the table's manifests are named in scheme %s, not %s", b.Scheme, scheme)}
	}
	return Failure{}
}
