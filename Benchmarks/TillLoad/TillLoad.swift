import Foundation

/// Creates load for a server and measures it. `make bench` and `make kill-test` call it.
@main
struct TillLoad {
    private static let usage = """
        usage: till-load make DIR COUNT              a configuration, a root, and COUNT signed transactions, of 100
                                                     customers, or of as many as USERS in the environment says
               till-load open DIR URL                open the orders of all of them at a running server
               till-load buy DIR URL                 post all of them
               till-load verify DIR SECONDS          proofs verified in a second of one core, chain cached
               till-load sync DIR SECONDS            4 KiB appended with fdatasync a second
               till-load ledger FILE                 what is in a ledger: grants, orders, bytes of proofs as stored
                                                     and as they came, bytes of the database
               till-load age FILE COUNT              COUNT processed purchases of five years into a ledger
               till-load old DIR TILL FILE           the server TILL on the ledger FILE with older purchases:
                                                     milliseconds to start, of reads of a customer with ten thousand
                                                     purchases and of the dashboard's pages, KiB resident at the end
               till-load store DIR COUNT             COUNT purchases of one customer in an emulated store, and their
                                                     history page by page: purchases a second, milliseconds of a page
                                                     (first hundred, last hundred, the last), pages, milliseconds
                                                     to make and to answer the receipt, its bytes, MiB resident at the
                                                     end and at most, bytes of the file a purchase
               till-load journal DIR COUNT           COUNT purchases in a device's journal: changes a second,
                                                     milliseconds of a change (first thousand, last thousand), to open
                                                     and to list, bytes of the file an order
               till-load finance DIR COUNT           COUNT purchases of two fiscal years in a ledger, and the settlement
                                                     report of them: seconds to fill it, of a bare scan by SQLite, to
                                                     read the entries, to make the report, both as a multiple of the
                                                     scan; MiB resident before and at most; entries, rows, bytes of
                                                     the file a purchase
               till-load flood DIR TILL RATE SECONDS
                                                     RATE purchases a second against the server TILL, SECONDS in quiet
                                                     and SECONDS under a fixed flood: milliseconds of a purchase
                                                     (p50, p99) in quiet, the same under the flood, the
                                                     second p99 as a multiple of the first;
                                                     microseconds of processor time of a forged notification
                                                     and of a grant, bytes written for each; the flood's bodies and
                                                     notifications, purchases not answered 200
               till-load paths DIR TILL COUNT [KIND] COUNT requests of each kind to the server TILL: a line for each
                                                     kind with the server's microseconds of processor time for one;
                                                     then deliveries to one webhook receiver a second, and the time of
                                                     one. KIND: only this one, by the name in its line; with PERF=FILE,
                                                     samples of the server meanwhile are written there
               till-load customers DIR TILL          a ledger with 5,000 customers (few-NUMBER) who bought points twice,
                                                     and 100 (many-NUMBER) with 1,200 orders and 200 purchases
               till-load user-flood DIR TILL RATE SECONDS ROUNDS
                                                     RATE purchases a second of a hundred users against the server TILL,
                                                     ROUNDS times SECONDS in quiet and SECONDS beside one user who sends
                                                     2,000 requests a second: p99 in quiet and under the flood, the
                                                     second as a multiple of the first (median, lowest, highest), the
                                                     multiple without the limit, the flood's requests, how many of them
                                                     were refused, purchases not answered 200
               till-load hot DIR RATE COUNT PORT…    COUNT debits of one customer, in turns at the servers on these
                                                     ports, RATE a second (0: as fast as they are answered), with
                                                     repetitions and purchases of the customer between them:
                                                     debits a second, milliseconds of a debit (p50, p99), the
                                                     last quarter's rate as a multiple of the first one's;
                                                     debits answered 201, references answered 201 twice, requests
                                                     that failed, points by which the balance differs
               till-load queue TILL ROUNDS
                                                     ROUNDS purchases against the server TILL, which saves first and has
                                                     a key: in quiet, beside 400 posts of one receipt by one thief and
                                                     by forty, beside 150 idle connections and 150 slow ones; a line
                                                     each: milliseconds to the grant (median, longest), the median as a
                                                     multiple of the quiet one, questions to the store
               till-load log DIR COUNT               the log lines of COUNT grants, written as till serve writes them:
                                                     microseconds of processor time of a line and of a grant's
                                                     lines, bytes of a line
               till-load writer DIR COUNT            COUNT verified purchases into a new ledger in this process:
                                                     microseconds of the writer's processor time for a grant,
                                                     purchases in a commit, microseconds of the process for a grant
               till-load purchase DIR                one purchase against a server in this process, which writes a
                                                     profile of it: scripts/purchase-files
               till-load exchanges ADDRESS [--statements]
                                                     round trips to the empty PostgreSQL database at ADDRESS for a
                                                     first purchase of a customer, and for a later one; or the
                                                     statements of one
               till-load delay PORT TARGET MICROSECONDS
                                                     pass connections to PORT on to TARGET, both on 127.0.0.1, each
                                                     piece of data that much later
               till-load kill DIR TILL ROUNDS [--planted]
                                                     kill the server TILL with signal 9 under load, ROUNDS times
               till-load upgrade DIR TILL NEXT|- REPLACEMENTS PURCHASES [LIMIT]
                                                     replace the program of the server TILL under load, with PURCHASES
                                                     in its ledger; NEXT serves the schemas of later releases. Fails if
                                                     a request fails, or an answer takes LIMIT ms (1000)
               till-load failover DIR TILL FAULTS SEED
                                                     FAULTS faults in the cluster of scripts/failover-cluster, which
                                                     has begun in DIR, then the audit: scripts/failover-test
        """

    static func main() async {
        do {
            try await run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("till-load: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) async throws {
        switch (arguments.first, arguments.count) {
        case ("make", 3): try LoadSet(arguments[1]).make(count: number(arguments[2], "COUNT"))
        case ("open", 3): try await OrderLoad(set: LoadSet(arguments[1]), url: arguments[2]).openAll()
        case ("buy", 3): try await OrderLoad(set: LoadSet(arguments[1]), url: arguments[2]).buyAll()
        case ("verify", 3):
            print(try VerifyLoop(set: LoadSet(arguments[1])).run(seconds: Double(number(arguments[2], "SECONDS"))))
        case ("sync", 3):
            print(try SyncLoop(directory: arguments[1]).run(seconds: Double(number(arguments[2], "SECONDS"))))
        case ("store", 3):
            print(try await StoreLoad(directory: arguments[1], purchases: number(arguments[2], "COUNT")).line())
        case ("journal", 3):
            print(try await JournalLoad(directory: arguments[1], orders: number(arguments[2], "COUNT")).line())
        case ("finance", 3):
            print(try await FinanceLoad(directory: arguments[1], purchases: number(arguments[2], "COUNT")).line())
        case ("age", 3): try await PastYears(path: arguments[1], purchases: number(arguments[2], "COUNT")).write()
        case ("old", 4):
            print(
                try OldLedgerReads(set: LoadSet(arguments[1]), till: arguments[2], database: arguments[3]).lines())
        case ("ledger", 2): print(try await LedgerFigures(path: arguments[1]).line())
        case ("flood", 5):
            let load = FloodLoad(
                set: LoadSet(arguments[1]), till: arguments[2], rate: try number(arguments[3], "RATE"),
                seconds: try number(arguments[4], "SECONDS"))
            print(try await load.line())
        case ("paths", 4), ("paths", 5):
            let costs = PathCosts(
                set: LoadSet(arguments[1]), till: arguments[2], count: try number(arguments[3], "COUNT"),
                only: arguments.count == 5 ? arguments[4] : nil)
            print(try await costs.lines())
        case ("customers", 3): try CustomersWithOrders.prepare(LoadSet(arguments[1]), till: arguments[2])
        case ("user-flood", 6):
            let load = UserFlood(
                set: LoadSet(arguments[1]), till: arguments[2], rate: try number(arguments[3], "RATE"),
                seconds: try number(arguments[4], "SECONDS"), rounds: try number(arguments[5], "ROUNDS"))
            print(try await load.line())
        case ("hot", 5...):
            let load = HotAccount(
                set: LoadSet(arguments[1]), rate: try number(arguments[2], "RATE", least: 0),
                debits: try number(arguments[3], "COUNT"),
                ports: try arguments[4...].map { UInt16(try number($0, "PORT")) })
            print(try load.line())
        case ("queue", 3):
            print(try await QueueLoad(till: arguments[1], rounds: number(arguments[2], "ROUNDS")).report())
        case ("log", 3): print(try LogLoad(directory: arguments[1], grants: number(arguments[2], "COUNT")).line())
        case ("writer", 3):
            let load = WriterLoad(set: LoadSet(arguments[1]), grants: try number(arguments[2], "COUNT"))
            print(try await load.line())
        case ("purchase", 2): try await CountedPurchase(set: LoadSet(arguments[1])).run()
        case ("delay", 4):
            let proxy = DelayingProxy(
                port: UInt16(try number(arguments[1], "PORT")), target: UInt16(try number(arguments[2], "TARGET")),
                delay: try number(arguments[3], "MICROSECONDS"))
            try proxy.run()
        case ("exchanges", 2): try await ExchangeCount(address: arguments[1], listsStatements: false).run()
        case ("exchanges", 3) where arguments[2] == "--statements":
            try await ExchangeCount(address: arguments[1], listsStatements: true).run()
        default: try await test(arguments)
        }
    }

    private static func test(_ arguments: [String]) async throws {
        switch (arguments.first, arguments.count) {
        case ("upgrade", 6), ("upgrade", 7):
            let test = UpgradeTest(
                till: arguments[2], next: arguments[3] == "-" ? nil : arguments[3], set: LoadSet(arguments[1]),
                replacements: try number(arguments[4], "REPLACEMENTS"),
                purchases: try number(arguments[5], "PURCHASES"),
                limit: arguments.count == 7 ? try number(arguments[6], "LIMIT") : 1_000)
            try await test.run()
        case ("failover", 5):
            let here = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
            let cluster = FailoverCluster(
                script: here.appendingPathComponent("scripts/failover-cluster").path,
                directory: URL(fileURLWithPath: arguments[1]), till: arguments[2])
            try await FailoverTest(
                cluster: cluster, example: here.appendingPathComponent("Examples/Scaling/till.json"),
                faults: number(arguments[3], "FAULTS"), seed: UInt64(number(arguments[4], "SEED"))
            ).run()
        case ("kill", 4), ("kill", 5):
            let isPlanted = arguments.count == 5
            guard !isPlanted || arguments[4] == "--planted" else { fallthrough }
            let test = try KillTest(
                till: arguments[2], set: LoadSet(arguments[1]), rounds: number(arguments[3], "ROUNDS"),
                isPlanted: isPlanted)
            try await KillReport().run(test)
        default:
            FileHandle.standardError.write(Data((usage + "\n").utf8))
            exit(2)
        }
    }

    private static func number(_ text: String, _ name: String, least: Int = 1) throws -> Int {
        guard let number = Int(text), number >= least else { throw LoadError("\(name): a number from \(least)") }
        return number
    }
}
