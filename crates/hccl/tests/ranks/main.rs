//! Ranks against a plain model: every collective, type and size, in place and not, as threads of a process and as
//! processes, on every executor and schedule; and what happens when ranks disagree or die.

mod api;
mod data;
mod failures;
mod groups;
mod job;
mod joins;
mod model;
mod program;
mod questions;

use job::Job;
use model::KIND_COUNT;
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
fn eight_ranks_agree_with_the_model_on_schedules() {
    for schedule in ["early", "late", "random:6"] {
        Job::new("model").ranks(8).schedule(schedule).seed(8).threads().expect_success();
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
    for version in 0..2 {
        Job::new("table").ranks(2).seed(version).processes().expect_success();
    }
    // Launchers pass the port of the job to every rank.
    Job::new("table").ranks(2).variable("MASTER_PORT", "29501").processes().expect_success();
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

#[test]
fn dead_rank_is_seen_on_every_schedule() {
    for schedule in SCHEDULES {
        Job::new("death").ranks(2).schedule(schedule).seed(2).processes().expect_death_of_rank(1);
    }
}

#[test]
fn dead_rank_is_an_error_in_every_collective() {
    for step in 0..2 * KIND_COUNT {
        Job::new("death-kinds").ranks(3).seed(step).processes().expect_death_of_rank(1);
    }
}

#[test]
fn rank_that_dies_while_joining_is_an_error_in_bounded_time() {
    Job::new("death-join").ranks(3).processes().expect_death_of_rank(1);
}

#[test]
fn rank_that_never_comes_is_an_error_after_the_time_limit() {
    for schedule in ["threads", "early", "late"] {
        Job::new("absent").ranks(2).schedule(schedule).variable("HCCL_EXEC_TIMEOUT", "1").threads().expect_success();
    }
}

#[test]
fn failed_join_leaves_nothing_behind() {
    Job::new("failed-join").variable("HCCL_CONNECT_TIMEOUT", "0.2").threads().expect_success();
}

#[test]
fn root_info_of_another_host_is_refused_with_its_name() {
    Job::new("foreign-root").threads().expect_success();
}

#[test]
fn registrations_settings_and_names_are_checked() {
    Job::new("questions").threads().expect_success();
}

#[test]
fn groups_make_ranks_join_and_run_collectives_together() {
    for schedule in SCHEDULES {
        Job::new("grouped-joins").schedule(schedule).threads().expect_success();
        Job::new("grouped-collectives").ranks(2).schedule(schedule).threads().expect_success();
    }
}
