//! Landlock takes the files and the network away, limits take descriptors and memory, and seccomp leaves
//! the few system calls that running needs; the others are answered with an error.

use std::collections::BTreeMap;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, RestrictionStatus, Ruleset, RulesetAttr as _,
    RulesetError, RulesetStatus, Scope,
};
use rustix::{
    process::{Resource, Rlimit, nice, setrlimit},
    thread::set_no_new_privs,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// What the worker's writable memory may come to: the guest's, the interpreter's code, and messages.
const DATA_BYTES: u64 = 1024 * 1024 * 1024;
/// What may be reserved: the machine reserves 4 GiB of addresses for a memory that it never fills.
const ADDRESS_BYTES: u64 = 16 * 1024 * 1024 * 1024;

/// How far a worker stands back behind others who want the processor.
const NICENESS: i32 = 10;

pub(super) fn before() -> Vec<String> {
    let mut missing = Vec::new();
    // Whatever a program computes, whoever waits for an answer of the server comes first.
    if nice(NICENESS).is_err() {
        missing.push("a lower priority".to_owned());
    }
    if set_no_new_privs(true).is_err() {
        missing.push("no new privileges".to_owned());
    }
    match landlock() {
        Ok(status) if status.ruleset == RulesetStatus::NotEnforced => {
            missing.push("Landlock".to_owned());
        }
        Ok(_) => {}
        Err(error) => missing.push(format!("Landlock ({error})")),
    }
    missing
}

/// No rule allows anything, so all that is handled is refused. The newest kernel is asked for; an older
/// one does what it can.
fn landlock() -> Result<RestrictionStatus, RulesetError> {
    Ruleset::default()
        .handle_access(AccessFs::from_all(ABI::V6))?
        .handle_access(AccessNet::from_all(ABI::V6))?
        .scope(Scope::from_all(ABI::V6))?
        .create()?
        .restrict_self()
}

pub(super) fn after() -> Vec<String> {
    let mut missing = Vec::new();
    let limits = [
        (Resource::As, ADDRESS_BYTES, "a limit of addresses"),
        (Resource::Data, DATA_BYTES, "a limit of memory"),
        (Resource::Core, 0, "no core dumps"),
        (Resource::Nproc, 0, "no processes"),
        (Resource::Nofile, 0, "no descriptors"),
    ];
    for (resource, most, name) in limits {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        if setrlimit(resource, limit).is_err() {
            missing.push(name.to_owned());
        }
    }
    if let Err(error) = seccomp() {
        missing.push(format!("seccomp ({error})"));
    }
    missing
}

fn seccomp() -> Result<(), Box<dyn std::error::Error>> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    // No memory becomes code any more.
    let not_code = SeccompCondition::new(
        2,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64),
        0,
    )?;
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        rules.insert(call, vec![SeccompRule::new(vec![not_code.clone()])?]);
    }
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Errno(libc::EPERM as u32),
        SeccompAction::Allow,
        TargetArch::try_from(std::env::consts::ARCH)?,
    )?;
    seccompiler::apply_filter_all_threads(&BpfProgram::try_from(filter)?)?;
    Ok(())
}

/// What running, waiting and ending need.
const ALLOWED: [i64; 22] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_getrandom,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_gettid,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_membarrier,
];
