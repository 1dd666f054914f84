package sim

import (
	"fmt"
	"maps"
	"time"

	"github.com/sluice-data/sluice/core"
)

// What programs of users do to a table, beside ours.

// foreign is the commit of a user's own program: a row of its own.
func (t *table) foreign() core.Version {
	t.rows++
	return t.edit(fmt.Sprintf("client/%d", t.rows%24), "appended")
}

// edit is the commit of a user's own program on one key; an empty value deletes it. What readers see
// afterwards is what counts from now on, since the user wants it so.
func (t *table) edit(key, value string) core.Version {
	m, rows := t.head().BaseManifest, maps.Clone(t.head().rows)
	m.Version++
	m.ReadVersion, m.Operation = m.Version-1, core.OpAppend
	overlay(rows, map[string]string{key: value})
	if !t.covered(key) {
		overlay(t.truth, map[string]string{key: value})
	}
	t.publish(m, rows, "client")
	return m.Version
}

// covered reports whether an SSTable above the marks says something about a key: then nobody sees the base.
func (t *table) covered(key string) bool {
	for _, s := range t.shards {
		for _, st := range s.above(t.head().Marks.Of(s.id)) {
			if _, ok := st.rows[key]; ok {
				return true
			}
		}
	}
	return false
}

// restore is a user's own restore of an older version: a new version with the old content, marks and
// metadata. It reports false if that version is not kept, or older than what the policy says can be restored.
func (t *table) restore(back int, retention time.Duration) bool {
	i := len(t.versions) - 1 - back
	if i < 0 || t.versions[i].rows == nil || t.now().Since(t.versions[i].at) >= retention {
		return false
	}
	m := t.versions[i].BaseManifest
	m.Version, m.ReadVersion, m.Operation = t.head().Version+1, t.head().Version, core.OpRestore
	schema := t.versions[i].schema
	t.publish(m, t.versions[i].rows, "client")
	t.versions[len(t.versions)-1].schema = schema
	t.truth, t.rewritten = t.view(), true
	return true
}

// reschema is a user's own change of the schema: no row of it changes.
func (t *table) reschema() {
	m := t.head().BaseManifest
	m.Version, m.ReadVersion, m.Operation = m.Version+1, m.Version, core.OpMerge
	t.publish(m, t.head().rows, "client")
	t.versions[len(t.versions)-1].schema++
}
