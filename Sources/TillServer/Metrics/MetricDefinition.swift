/// What a metric is called and what it says. `MetricDefinition.all` is the list of everything that a server exports;
/// the tables in docs/operations.md repeat it, and a test compares them.
struct MetricDefinition: Sendable, Hashable {
    enum Kind: String, Sendable {
        /// Goes up and down.
        case gauge
        /// Only grows, for the lifetime of the ledger or of the process; its name ends in `_total`.
        case counter
        /// Counts values by size.
        case histogram
    }

    enum Unit: String, Sendable {
        case seconds = "s"
        case bytes
        /// From 0 to 1.
        case ratio
        case count
        /// 1 for yes, 0 for no.
        case flag = "0/1"
    }

    /// `till_…`, in base units.
    let name: String
    let kind: Kind
    let unit: Unit
    /// Every sample carries these. Each has few values, and none is a text from outside.
    let labels: [String]
    /// One line in English.
    let help: String

    init(_ name: String, _ kind: Kind, _ unit: Unit, _ labels: [String], _ help: String) {
        self.name = name
        self.kind = kind
        self.unit = unit
        self.labels = labels
        self.help = help
    }

    init(_ name: String, _ kind: Kind, _ unit: Unit, _ help: String) { self.init(name, kind, unit, [], help) }

    /// In the order of a scrape.
    static let all: [MetricDefinition] =
        server + requestMetrics + limits + keys + database + jobs + apple + LedgerMetrics.definitions

    // MARK: The server

    static let buildInfo = MetricDefinition(
        "till_build_info", .gauge, .flag, ["version"], "Always 1; the version of the running program.")
    static let ready = MetricDefinition(
        "till_ready", .gauge, .flag, "1 if the ledger can be written, as /readyz says.")
    static let degraded = MetricDefinition(
        "till_degraded", .gauge, .flag, ["reason"],
        "1 while the server answers but something that it needs is missing, as /readyz says.")
    static let server = [buildInfo, ready, degraded]

    // MARK: Requests

    static let requests = MetricDefinition(
        "till_http_requests_total", .counter, .count, ["method", "route", "status"],
        "Answered requests by the pattern of their route; `unmatched` is every other address.")
    static let requestDuration = MetricDefinition(
        "till_http_request_duration_seconds", .histogram, .seconds, ["method", "route"],
        "Time from the whole request to its answer.")
    static let refusals = MetricDefinition(
        "till_refusals_total", .counter, .count, ["code"], "Refused requests by the code of their problem.")
    static let verificationFailures = MetricDefinition(
        "till_verification_failures_total", .counter, .count, ["verdict"],
        "Proofs that failed verification, of requests, notifications and jobs.")
    static let purchasesWaiting = MetricDefinition(
        "till_purchases_waiting", .gauge, .count,
        "Submitted purchases that wait until fewer are verified and committed at the same time.")
    static let requestMetrics = [requests, requestDuration, refusals, verificationFailures, purchasesWaiting]

    // MARK: Limits and keys

    static let requestsLimited = MetricDefinition(
        "till_requests_limited_total", .counter, .count, ["limit"],
        "Requests refused with 429 since the start, by the limit that refused them.")
    static let limitBuckets = MetricDefinition(
        "till_limit_buckets", .gauge, .count, ["limit"], "Users, keys and addresses that have a bucket.")
    static let bucketsReplaced = MetricDefinition(
        "till_limit_buckets_replaced_total", .counter, .count, ["limit"],
        "Callers that were forgotten for a new one before their bucket was full, since the start.")
    static let unpaidRows = MetricDefinition(
        "till_unpaid_rows", .gauge, .count, ["table"],
        "Rows of the tables that callers without a purchase add to; NaN before the first pass of the job `pruning`.")
    static let unpaidBytes = MetricDefinition(
        "till_unpaid_bytes", .gauge, .bytes, ["table"],
        "Bytes of the long columns of these tables, without indices; NaN before the first pass of the job `pruning`.")
    static let prunedRows = MetricDefinition(
        "till_pruned_rows_total", .counter, .count, ["table"], "Rows deleted for their age since the start.")
    static let limits = [requestsLimited, limitBuckets, bucketsReplaced, unpaidRows, unpaidBytes, prunedRows]
    static let keyExpiry = MetricDefinition(
        "till_key_expiry_seconds", .gauge, .seconds, ["list", "key"],
        "Time until the key expires, below zero afterwards; +Inf for a key without an expiry.")
    static let keyLastUse = MetricDefinition(
        "till_key_last_use_timestamp_seconds", .gauge, .seconds, ["list", "key"],
        "When the key was last accepted, as a Unix time; NaN if no use is known.")
    static let keys = [keyExpiry, keyLastUse]

    // MARK: The ledger's file

    static let commitDuration = MetricDefinition(
        "till_commit_duration_seconds", .histogram, .seconds,
        "Time to run and commit one batch of writes, with its sync.")
    static let commitBatch = MetricDefinition(
        "till_commit_batch_size", .histogram, .count, "Writes that shared one commit.")
    static let commitFailures = MetricDefinition(
        "till_commit_failures_total", .counter, .count, ["kind"], "Batches of writes that failed, by the kind of fault."
    )
    static let commitRunning = MetricDefinition(
        "till_commit_running_seconds", .gauge, .seconds,
        "How long the current commit has been under way; 0 without one."
    )
    static let waitingWrites = MetricDefinition(
        "till_waiting_writes", .gauge, .count, "Writes that wait for the writer.")
    static let diskFree = MetricDefinition(
        "till_disk_free_bytes", .gauge, .bytes, "Free space on the volume of the ledger.")
    static let diskSize = MetricDefinition("till_disk_size_bytes", .gauge, .bytes, "Size of the volume of the ledger.")
    static let backupAge = MetricDefinition(
        "till_backup_age_seconds", .gauge, .seconds, "Time since the last `till backup`; NaN if there was none.")
    static let ledgerRead = MetricDefinition(
        "till_scrape_ledger_seconds", .gauge, .seconds,
        "Time that this scrape needed to read the ledger; NaN if the ledger could not be read.")
    static let database =
        [
            commitDuration, commitBatch, commitFailures, commitRunning, waitingWrites, diskFree, diskSize, backupAge,
            ledgerRead,
        ] + sharedDatabase

    // MARK: Background jobs

    static let jobSuccessAge = MetricDefinition(
        "till_job_last_success_age_seconds", .gauge, .seconds, ["background_job"],
        "Seconds since the job last finished without a fault, or since the start of the server.")
    static let jobInterval = MetricDefinition(
        "till_job_interval_seconds", .gauge, .seconds, ["background_job"], "The pause between two runs of the job.")
    static let jobRunning = MetricDefinition(
        "till_job_running_seconds", .gauge, .seconds, ["background_job"],
        "How long the current run of the job takes already; 0 between two runs.")
    static let jobFailures = MetricDefinition(
        "till_job_failures_total", .counter, .count, ["background_job"], "Runs of the job that ended with a fault.")
    static let walletDrift = MetricDefinition(
        "till_wallet_drift", .gauge, .count,
        "Balances that differ from the sum of their postings; NaN before every wallet was compared once.")
    static let walletCheckAge = MetricDefinition(
        "till_wallet_check_age_seconds", .gauge, .seconds,
        "Seconds since every wallet had been compared with its postings; NaN before the first time.")
    static let proofsCompressed = MetricDefinition(
        "till_proofs_compressed_total", .counter, .count, "Stored proofs that were compressed.")
    static let proofBytesSaved = MetricDefinition(
        "till_proof_bytes_saved_total", .counter, .bytes, "Bytes that the compression of stored proofs saved.")
    static let rowsSealed = MetricDefinition(
        "till_rows_sealed_total", .counter, .count, "Rows of the ledger that this server sealed.")
    static let rowsSealedLate = MetricDefinition(
        "till_rows_sealed_late_total", .counter, .count,
        "Rows among them that appeared after their neighbours had been sealed.")
    static let foreignRows = MetricDefinition(
        "till_foreign_rows_total", .counter, .count,
        "Rows of the ledger that another program inserted while this server held it. They are not sealed.")
    static let jobs = [
        jobSuccessAge, jobInterval, jobRunning, jobFailures, jobsLeader, jobLeaseAge, walletDrift, walletCheckAge,
        proofsCompressed, proofBytesSaved, rowsSealed, rowsSealedLate, foreignRows,
    ]

    // MARK: Apple

    static let appleAnswers = MetricDefinition(
        "till_apple_answers_total", .counter, .count, ["host", "code"],
        "Requests to Apple by Apple's error code, else the HTTP status, else the reason for the missing answer.")
    static let appleKeyRefused = MetricDefinition(
        "till_apple_key_refused", .gauge, .flag, ["host"],
        "1 if the host's last answer was 401: it refuses the In-App Purchase key; NaN before the first answer.")
    static let appleUnanswered = MetricDefinition(
        "till_apple_unanswered_seconds", .gauge, .seconds, ["host"],
        "Seconds since the first of the requests in a row that got no answer; 0 if the last one was answered, "
            + "NaN if none was sent.")
    static let clockSkew = MetricDefinition(
        "till_clock_skew_seconds", .gauge, .seconds, ["host"],
        "This server's clock minus the Date of the host's last answer; NaN without one.")
    static let budgetLeft = MetricDefinition(
        "till_apple_budget_left_ratio", .gauge, .ratio, ["environment", "endpoint"],
        "Share of Apple's request quota that is left; NaN without an In-App Purchase key.")
    static let budgetWaiting = MetricDefinition(
        "till_apple_requests_waiting", .gauge, .count, ["environment", "endpoint"],
        "Requests that wait for a place in Apple's quota; NaN without an In-App Purchase key.")
    static let apple = [appleAnswers, appleKeyRefused, appleUnanswered, clockSkew, budgetLeft, budgetWaiting]
}
