package guard

// Name names a rule that `make guards` can take out.
type Name string
