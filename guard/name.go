package guard

// Name names a rule that `make guards` can take out. Each has a line in rules.txt with the test that
// must fail without it.
type Name string

// The rules of admission (core/admission.go).
const (
	NamingScheme    Name = "naming-scheme"    // a manifest in the other naming scheme is refused
	NextOnly        Name = "next-only"        // only latest + 1 may be put
	BodyVersion     Name = "body-version"     // a manifest's body says what its name says
	ForeignMarks    Name = "foreign-marks"    // a client may not raise marks on an owned table
	TableIdentity   Name = "table-identity"   // a commit carries the table id from Start
	MemWALIndex     Name = "mem-wal-index"    // a commit keeps the MemWAL index
	MarksAsPlanned  Name = "marks-as-planned" // marks are those before or those planned
	DirectSuccessor Name = "direct-successor" // tombstones follow the read version directly
)
