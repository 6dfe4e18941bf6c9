extension Command {
    /// Every command of `till`, in the order the help lists them.
    static let all: [Command] = [
        .demo,
        .initialize,
        .serve,
        .emulate,
        .verify,
        .apple,
        .reconcile,
        .doctor,
        .convert,
        .report,
        .compare,
        .tiers,
        .proceeds,
        .calendar,
        .simulate,
    ]
}
