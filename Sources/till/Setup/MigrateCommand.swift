import TillBilling
import TillJSON
import TillLedger
import TillSQL
import TillSQLite

extension Flag {
    fileprivate static let planOnly = Flag(
        "dry-run",
        summary: LocalizedText(en: "say what there is to do, and change nothing", zh: "只说明要做什么，不作任何更改"))
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
                --dry-run reads only, with or without a running server. Its numbers of rows are counts of now.
                --json prints {"version", "target", "migrations": [{"number", "phase", "rows"}]}.
                """,
            zh: """
                服务器启动时会扩展账本的结构，并在服务的同时回填数据，因此只有跳过某个版本时才需要本命令。
                它把每个阶段都做完：扩展、回填、收缩。可以随时中断，再次运行时继续。
                --dry-run 只读，服务器运行与否均可；行数是当前的统计。
                --json 输出 {"version", "target", "migrations": [{"number", "phase", "rows"}]}。
                """),
        flags: Configuration.flags + [.planOnly]
    ) { call in
        let configuration = try Configuration.load(for: call)
        let path: String
        switch configuration.database {
        case .sqlite(let file): path = file
        }
        let run = MigrationRun(path: path, schema: .served, call: call)
        do {
            try await run.run(dry: call.isSet(.planOnly))
        } catch let error as DatabaseError {
            throw error.failure(ledger: shown(path))
        }
        return .done
    }
}

/// One `till migrate`.
struct MigrationRun: Sendable {
    let path: String
    let schema: DatabaseSchema
    let call: Invocation

    /// Rows in one commit: nothing else waits for it.
    private static let batch = 5_000

    /// A migration that is still to run, or a backfill that is not finished.
    struct Step: Sendable, Hashable {
        let number: Int
        let phase: Migration.Phase
        /// The rows that a backfill reads.
        var rows: Int64?
    }

    func run(dry isDry: Bool) async throws {
        let version = try SQLiteDatabase.version(of: path, options: .init(schema))
        let steps = try await steps(from: version)
        guard !steps.isEmpty else {
            report(version, steps)
            say("the ledger is up to date", "账本的结构已是最新")
            return
        }
        report(version, steps)
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
            let ledger = try SQLiteDatabase.open(path: path, role: .operator, options: .init(known))
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
        let name = "\(table)"
        return try await ledger.read { connection in
            let exists = try connection.first(
                "SELECT count(*) AS count FROM sqlite_schema WHERE type = 'table' AND name = ?1", [.text(name)]
            ) { $0.integer("count") }
            guard exists == 1 else { return 0 }
            return try connection.first("SELECT count(*) AS count FROM \(table: table)", []) { $0.integer("count") }
                ?? 0
        }
    }

    private func migrate(to schema: DatabaseSchema) async throws {
        let ledger = try SQLiteDatabase.open(path: path, role: .server, options: .init(schema))
        let backfills = Backfills(ledger, schema)
        do {
            while let progress = try await backfills.fillBatch(of: Self.batch, at: call.process.clock().milliseconds) {
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
