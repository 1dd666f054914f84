package core

import "testing"

// A wish that waits for nothing is granted once, whatever becomes of the answers to its reservations.
func TestAWishThatWaitsForNothingIsGrantedOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		sent    []hurry
		last    uint64
		lastID  ExecutionID
		granted bool
		kept    int
	}{
		{"nothing is known yet", []hurry{{"a", 7, "w1"}}, 6, "z", false, 1},
		{"it was made", []hurry{{"a", 7, "w1"}}, 7, "a", true, 0},
		{"somebody else was first", []hurry{{"a", 7, "w1"}}, 7, "z", false, 0},
		{"the first of two was made", []hurry{{"a", 7, "w1"}, {"b", 7, "w1"}}, 7, "a", true, 0},
		{"the second of two was made", []hurry{{"a", 7, "w1"}, {"b", 7, "w1"}}, 7, "b", true, 0},
		{"only later ones are seen", []hurry{{"a", 7, "w1"}}, 9, "z", true, 0},
		{"one is over and one under way", []hurry{{"a", 7, "w2"}, {"b", 8, "w1"}}, 7, "z", false, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tr := &track{rushed: map[Endpoint]bool{}, hasty: test.sent}
			tr.hurried(&TargetView{Table: Seen[TableRecord]{Value: TableRecord{LastExecution: test.last, LastID: test.lastID}}})
			if tr.rushed["w1"] != test.granted || len(tr.hasty) != test.kept {
				t.Errorf("granted %v, expected %v; %d are kept, expected %d", tr.rushed["w1"], test.granted, len(tr.hasty), test.kept)
			}
		})
	}
}
