package lake

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/core"
)

// maxFolders bounds a search for tables.
const maxFolders = 100_000

// Tables finds the tables of a lake by their folders' names, sorted. It looks into no table, and finds
// nothing under _sluice/. A folder whose path is no target's name is passed over: nobody could ask for it.
func Tables(ctx context.Context, l Lake) ([]core.Target, error) {
	var found []core.Target
	folders := []string{""}
	for looked := 0; len(folders) > 0; looked++ {
		if looked == maxFolders {
			return nil, fmt.Errorf("look for tables in %s: more than %d folders; pass the folder that holds the tables", l.URI(), maxFolders)
		}
		at := folders[len(folders)-1]
		folders = folders[:len(folders)-1]
		level, err := l.Children(ctx, at)
		if err != nil {
			return nil, fmt.Errorf("look for tables in %s: %w", l.URI(), err)
		}
		for _, name := range level.Folders {
			path, table := strings.CutSuffix(at+name, ".lance")
			switch t, err := core.ParseTarget(path); {
			case err != nil:
			case table:
				found = append(found, t)
			default:
				folders = append(folders, path+"/")
			}
		}
	}
	slices.Sort(found)
	return found, nil
}
