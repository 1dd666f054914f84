package lake

import (
	"context"
	"fmt"
)

// CheckAbove returns a [*NestedError] if the lake lies inside a claimed one. It writes nothing.
func CheckAbove(ctx context.Context, l Lake) error {
	p, ok := l.(parents)
	if !ok {
		return nil
	}
	above, err := p.claimAbove(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("look for a lake above %s: %w", l.URI(), err)
	case above != "":
		return &NestedError{Parent: above}
	}
	return nil
}
