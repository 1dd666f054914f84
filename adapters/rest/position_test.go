package rest

import (
	"slices"
	"testing"

	"github.com/sluice-data/sluice/core"
	"pgregory.net/rapid"
)

var anyPosition = rapid.Custom(func(t *rapid.T) position {
	name := rapid.OneOf(rapid.SampledFrom([]string{"", "db", "db/events", "w1", "~unowned", "a\"b", "<&>", "é", "\u2028"}), rapid.String())
	return position{core.Target(name.Draw(t, "target")), core.Endpoint(name.Draw(t, "endpoint"))}
})

// A cursor says exactly where a page ended, and there is one text for each place.
func TestACursorIsReadAsThePlaceThatItWasMadeOf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := anyPosition.Draw(t, "position")
		text := p.String()
		if back, err := parsePosition(text); err != nil || back != p {
			t.Fatalf("%+v is the cursor %q and then %+v: %v", p, text, back, err)
		}
		b := []byte(text)
		b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		if other, err := parsePosition(string(b)); err == nil && other.String() != string(b) {
			t.Fatalf("%q is taken for %+v, whose cursor is %q", b, other, other.String())
		}
	})
}

// Places are ordered by target and then endpoint, as pages list them.
func TestPlacesAreOrderedByTargetAndThenByEndpoint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(anyPosition, 0, 8).Draw(t, "positions")
		slices.SortFunc(list, comparePositions)
		for i := 1; i < len(list); i++ {
			a, b := list[i-1], list[i]
			if a.Target > b.Target || a.Target == b.Target && a.Endpoint > b.Endpoint {
				t.Fatalf("%+v comes before %+v", a, b)
			}
		}
	})
}
