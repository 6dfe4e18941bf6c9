import TillBilling
import TillJSON
import TillLedger
import TillSQL

extension Flag {
    fileprivate static let planOnly = Flag(
        "dry-run",
        summary: LocalizedText(en: "say what there is to do, and change nothing", zh: "只说明要做什么，不作任何更改"))
    fileprivate static let owner = Flag(
        "as", .text("postgres://…"),
        summary: LocalizedText(
            en: "PostgreSQL: the role that owns the tables; the servers' role is granted its rights",
            zh: "PostgreSQL：表的所有者角色；服务器的角色会得到所需的权限"))
}

extension Invocation {
    /// The location that `--as` names.
    fileprivate func owner(of ledger: LedgerLocation) throws -> PostgresLocation? {
        guard let text = text(.owner) else { return nil }
        guard ledger.file == nil else {
            throw UsageError(
                LocalizedText(
                    en: "--as is for a ledger on PostgreSQL", zh: "--as 仅用于 PostgreSQL 上的账本"), command: "migrate")
        }
        guard ledger.role != nil else {
            throw CommandError(
                LocalizedText(
                    en: "database names no role to grant rights to: write postgres://ROLE@HOST/NAME",
                    zh: "database 中没有要授权的角色：请写成 postgres://角色@主机/数据库名"))
        }
        do {
            return PostgresLocation(try PostgresAddress(text))
        } catch {
            throw CommandError(LocalizedText(en: "--as \(error.sentence.en)", zh: "--as \(error.sentence.zh)"))
        }
    }
}

extension Command {
    /// `till migrate`: every phase of every migration, while no server runs.
    static let migrate = Command(
        "migrate",
        summary: LocalizedText(en: "bring a ledger up to date while no server runs", zh: "在没有服务器运行时更新账本的结构"),
        discussion: LocalizedText(
            en: """
                A server expands the ledger when it starts and fills rows while it serves, so this command is only
                needed to skip a release. It runs every phase to its end: expand, backfill, contract. It can be
                interrupted at any time and run again.
                On PostgreSQL servers may go on running. Where the servers' role does not own the tables, name the owner
                with --as; it gets no password on the command line: use ?passfile=, PGPASSWORD or ~/.pgpass.
                --to copies the whole ledger into an empty database while no server runs, and verifies the copy. It can
                be interrupted at any time and run again; a server refuses a copy that is not complete.
                --dry-run reads only, with or without a running server. Its numbers of rows are counts of now.
                --json prints {"version", "target", "migrations": [{"number", "phase", "rows"}]}.
                """,
            zh: """
                服务器启动时会扩展账本的结构，并在服务的同时回填数据，因此只有跳过某个版本时才需要本命令。
                它把每个阶段都做完：扩展、回填、收缩。可以随时中断，再次运行时继续。
                在 PostgreSQL 上，服务器可以继续运行。服务器的角色不是表的所有者时，用 --as 指明所有者；
                密码不写在命令行上：请用 ?passfile=、PGPASSWORD 或 ~/.pgpass。
                --to 在没有服务器运行时把整个账本复制到空数据库，并核对副本。可以随时中断，再次运行时继续；
                服务器拒绝未完成的副本。
                --dry-run 只读，服务器运行与否均可；行数是当前的统计。
                --json 输出 {"version", "target", "migrations": [{"number", "phase", "rows"}]}。
                """),
        flags: Configuration.flags + [.planOnly, .owner, .copyTarget]
    ) { call in
        let ledger = try Configuration.ledger(for: call, command: "migrate")
        if let target = call.text(.copyTarget) {
            try await CopyRun(from: ledger, to: target, .served, call).run()
            return .done
        }
        var run = MigrationRun(ledger: ledger, schema: .served, call: call)
        run.owner = try call.owner(of: ledger)
        do {
            try await run.run(dry: call.isSet(.planOnly))
        } catch let error as DatabaseError {
            throw (run.owner.map(LedgerLocation.postgres) ?? ledger).failure(error)
        }
        return .done
    }
}

/// One `till migrate`.
struct MigrationRun: Sendable {
    let ledger: LedgerLocation
    let schema: DatabaseSchema
    let call: Invocation
    /// The role that owns the tables of PostgreSQL, where it is not the server's.
    var owner: PostgresLocation?

    /// Where this command reads and migrates.
    private var reading: LedgerLocation { owner.map(LedgerLocation.postgres) ?? ledger }

    /// Rows in one commit: nothing else waits for a file. On a shared ledger servers may be running.
    private var batch: Int { ledger.file == nil ? 500 : 5_000 }

    /// A migration that is still to run, or a backfill that is not finished.
    struct Step: Sendable, Hashable {
        let number: Int
        let phase: Migration.Phase
        /// The rows that a backfill reads.
        var rows: Int64?
    }

    func run(dry isDry: Bool) async throws {
        let version = try reading.version(schema)
        let steps = try await steps(from: version)
        report(version, steps)
        guard !steps.isEmpty else {
            // The role of the servers may be new.
            if owner != nil, !isDry { try await migrate(to: schema) }
            say("the ledger is up to date", "账本的结构已是最新")
            return
        }
        guard !isDry else { return }
        // A contract is only run on a file whose earlier backfills are finished, so each part ends before one.
        let contracts = steps.filter { $0.phase == .contract }.map { $0.number - 1 }
        for end in contracts + [schema.version] where end >= version { try await migrate(to: schema.upTo(end)) }
        say("the ledger is up to date", "账本的结构已是最新")
    }

    /// What is to be done for a file of that version, in order.
    func steps(from version: Int) async throws -> [Step] {
        var steps: [Step] = []
        if version > 0 {
            let known = schema.upTo(version)
            let ledger = try reading.open(as: .operator, known).database
            steps = try await Backfills(ledger, known).remaining().map {
                Step(number: $0.number, phase: .backfill, rows: $0.rows)
            }
            for (number, migration) in schema.numbered where number > version {
                var step = Step(number: number, phase: migration.phase)
                if let backfill = migration.backfill { step.rows = try await count(backfill.table, in: ledger) }
                steps.append(step)
            }
            await ledger.close()
        } else {
            steps = schema.numbered.map { Step(number: $0.number, phase: $0.migration.phase) }
        }
        return steps
    }

    /// The rows of a table; 0 for one that a pending migration creates.
    private func count(_ table: StaticString, in ledger: any Database) async throws -> Int64 {
        return try await ledger.read { [reading] connection in
            guard try reading.hasTable(table, connection) else { return 0 }
            return try connection.first("SELECT count(*) AS count FROM \(table: table)", []) { $0.integer("count") }
                ?? 0
        }
    }

    private func migrate(to schema: DatabaseSchema) async throws {
        try await ledger.migrate(schema, as: owner, grantingTo: owner == nil ? nil : ledger.role)
        guard schema.hasBackfills else { return }
        let ledger = try reading.open(as: .server, schema).database
        let backfills = Backfills(ledger, schema)
        do {
            while let progress = try await backfills.fillBatch(of: batch, at: call.process.clock().milliseconds) {
                draw(progress)
            }
        } catch {
            await ledger.close()
            throw error
        }
        await ledger.close()
    }

    // MARK: Output

    private func say(_ english: String, _ chinese: String) { call.say(LocalizedText(en: english, zh: chinese)) }

    private func draw(_ progress: Backfills.Progress) {
        guard call.console.drawsProgress || progress.isFinished else { return }
        let text = LocalizedText(
            en: "backfill \(progress.number): \(progress.rows) rows\(progress.isFinished ? ", finished" : "")",
            zh: "回填 \(progress.number)：\(progress.rows) 行\(progress.isFinished ? "，完成" : "")")
        call.console.complain(text[call.language])
    }

    private func report(_ version: Int, _ steps: [Step]) {
        if call.wantsJSON {
            let list = steps.map { step in
                var members: [String: JSONValue] = [
                    "number": .int(Int64(step.number)), "phase": .string(step.phase.rawValue),
                ]
                if let rows = step.rows { members["rows"] = .int(rows) }
                return JSONValue.object(members)
            }
            let document: JSONValue = [
                "version": .int(Int64(version)), "target": .int(Int64(schema.version)), "migrations": .array(list),
            ]
            call.console.print(document.encoded(pretty: true))
            return
        }
        say("schema version \(version); this program's is \(schema.version)", "结构版本 \(version)；本程序为 \(schema.version)")
        for step in steps {
            switch step.phase {
            case .expand: say("\(step.number)  expand: adds tables and columns", "\(step.number)  扩展：增加表和列")
            case .backfill:
                let rows = step.rows ?? 0
                say("\(step.number)  backfill: fills \(rows) rows", "\(step.number)  回填：填写 \(rows) 行")
            case .contract:
                say("\(step.number)  contract: removes what is no longer read", "\(step.number)  收缩：删除不再读取的内容")
            }
        }
    }
}
