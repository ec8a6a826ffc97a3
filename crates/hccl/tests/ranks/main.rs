//! Ranks against a plain model: every collective, type and size, in place and not, as threads of a process and as
//! processes, on every executor and schedule; and what happens when ranks disagree or die.

mod api;
mod data;
mod failures;
mod job;
mod model;
mod program;

use job::Job;
use program::LARGE_SEED;

/// Executors and schedules.
const SCHEDULES: [&str; 5] = ["threads", "early", "late", "random:3", "random:4"];

/// Entry of the processes that the tests start.
#[test]
fn worker() {
    job::run_worker();
}

#[test]
fn threads_of_a_process_agree_with_the_model() {
    for schedule in SCHEDULES {
        let all: &[u32] = if schedule == "threads" { &[1, 2, 4, 8] } else { &[2, 3] };
        for &ranks in all {
            Job::new("model").ranks(ranks).schedule(schedule).seed(u64::from(ranks)).threads().expect_success();
        }
    }
}

#[test]
fn processes_agree_with_the_model() {
    for (ranks, schedule, seed) in
        [(2, "threads", LARGE_SEED), (3, "early", 12), (2, "late", 13), (2, "random:5", 14), (5, "threads", 15)]
    {
        Job::new("model").ranks(ranks).schedule(schedule).seed(seed).processes().expect_success();
    }
}

#[test]
fn one_thread_can_be_two_ranks_on_every_schedule() {
    for schedule in SCHEDULES {
        Job::new("one-thread").ranks(1).schedule(schedule).threads().expect_success();
    }
}

#[test]
fn sub_communicators_batches_groups_graphs_and_queries_work() {
    for schedule in SCHEDULES {
        Job::new("features").ranks(3).schedule(schedule).threads().expect_success();
    }
    Job::new("features").ranks(3).schedule("threads").processes().expect_success();
}

#[test]
fn rank_tables_bring_ranks_together() {
    Job::new("table").ranks(2).schedule("threads").processes().expect_success();
}

#[test]
fn ranks_that_disagree_get_an_error_that_names_both() {
    for schedule in ["threads", "late"] {
        Job::new("disagree").ranks(2).schedule(schedule).threads().expect_success();
    }
    Job::new("disagree").ranks(2).schedule("threads").processes().expect_success();
}

#[test]
fn dead_rank_is_an_error_in_bounded_time() {
    for step in 0..4 {
        Job::new("death").ranks(3).schedule("threads").seed(step).processes().expect_death_of_rank(1);
    }
}
