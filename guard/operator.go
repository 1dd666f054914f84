package guard

// The rules of what operators say (core/operate.go).
const (
	ModeComparesPolicy       Name = "mode-compares-policy"       // a mode is changed only in the policy that was seen
	ModeComparesLatch        Name = "mode-compares-latch"        // a mode is changed only from the latch that was seen
	ModeComesDownUnowned     Name = "mode-comes-down-unowned"    // a mode comes down only while nobody owns the table
	ModeComparesDeclarations Name = "mode-compares-declarations" // a mode comes down only while no process has come since it was judged
	PolicyComparesPolicy     Name = "policy-compares-policy"     // a policy is replaced only if it is the one that was seen
	ForgetComparesBudget     Name = "forget-compares-budget"     // a budget is forgotten only as it was seen
	ForgetComparesExecution  Name = "forget-compares-execution"  // a budget is forgotten only while nothing is charged to it
)
