"""The stock clients of a Lance table, as its users run them: LanceDB, pylance's ShardWriter, plain pylance.

Nothing here is shared with Sluice's engine, so that what a merge did can be judged by somebody else: the
view by pylance's own LSM scanner, and by the record that the writers keep of what they wrote.
"""
