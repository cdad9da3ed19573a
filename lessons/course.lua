-- The course: its lessons in the order in which they are shown. A lesson is a page in lessons/LANG/NAME.md and,
-- where it has one, an exercise in exercises/NAME/. `tiers` says where the lesson works in full: "simulated" (no MPI
-- needed), "cpu" (two ranks on a login node), "cluster" (a scheduler and more than one node).
return {
    title = "Deep learning on a cluster, from ringside",
    lessons = {
        {
            name = "01-welcome",
            title = "Welcome",
            question = "Where does my job live?",
            minutes = 15,
            track = "core",
            requires = {},
            tiers = { "cpu", "cluster" },
            exercise = "01-welcome",
        },
        {
            name = "02-first-training",
            title = "First training",
            question = "A bigger batch: faster, and as good?",
            minutes = 35,
            track = "core",
            requires = { "01-welcome" },
            tiers = { "cpu", "cluster" },
            exercise = "02-first-training",
        },
        {
            name = "04-ring-allreduce",
            title = "Ring-allreduce",
            question = "How do ranks sum vectors with no boss, and what does each of them send?",
            minutes = 40,
            track = "core",
            requires = { "02-first-training" },
            tiers = { "simulated", "cpu", "cluster" },
            exercise = "04-ring-allreduce",
        },
    },
}
