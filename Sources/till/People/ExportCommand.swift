import TillBilling
import TillJSON
import TillLedger
import TillSQL

extension Flag {
    static let user = Flag(
        "user", .text("USER"),
        summary: LocalizedText(en: "the user's id, as your backend names it", zh: "用户 id，即后端所用的名称"))
    fileprivate static let output = Flag(
        "output", .text("FILE"),
        summary: LocalizedText(
            en: "write to a new file that only this user can read, instead of stdout", zh: "写入一个只有本用户可读的新文件，而不是标准输出"))
    fileprivate static let all = Flag(
        "all", .text("FILE"),
        summary: LocalizedText(
            en: "write the purchases of the whole ledger into a new file, to move out", zh: "把整个账本的购买写入新文件，以便迁出"))
}

extension Command {
    /// `till export`: everything that the ledger holds about a person.
    static let export = Command(
        "export",
        summary: LocalizedText(en: "write everything that the ledger holds about a person", zh: "导出账本中关于某人的全部数据"),
        discussion: LocalizedText(
            en: """
                Reads the ledger, beside a running server too, and prints one JSON document: the customer, orders,
                transactions, grants, postings and the other lists of docs/personal-data.md, and what is left out.
                It contains personal data: --output makes a file that other users can't read.
                --all FILE writes every purchase with what Apple signed, and every balance, in a format that
                till import reads back into an empty ledger (docs/moving.md).
                """,
            zh: """
                读取账本（服务器运行时也可以），打印一个 JSON 文档：客户、订单、交易、发放、分录，
                以及 docs/personal-data.zh-CN.md 所列的其他列表，并写明未包含的内容。
                文档含有个人数据：--output 会创建其他用户读不到的文件。
                --all FILE 写出每一笔购买（含 Apple 签名的内容）与每个余额，till import 可将其读入空账本
                （docs/moving.zh-CN.md）。
                """),
        flags: [.config, .database, .user, .output, .all]
    ) { call in
        let configuration = try Configuration.load(for: call)
        let user = try call.text(.all) == nil ? call.namedUser("export") : nil
        let ledger: any Database
        do throws(DatabaseError) {
            ledger = try configuration.database.labelled("till export").open(as: .operator, .ledger).database
        } catch {
            throw configuration.database.failure(error)
        }
        do {
            if let user {
                try await ExportDocument(user: user, export: CustomerExport(of: user, in: ledger), call: call).write()
            } else {
                try await MoveOutFile(configuration, ledger, call).write()
            }
            await ledger.close()
        } catch {
            await ledger.close()
            throw configuration.database.explained(error, call.language)
        }
        return .done
    }
}

extension Invocation {
    /// `--user`, which the command needs.
    func namedUser(_ command: String) throws -> UserID {
        guard let text = text(.user), (1...UserID.maximumLength).contains(text.utf8.count),
            text.firstForbiddenScalar == nil
        else {
            throw UsageError(
                LocalizedText(
                    en: "--user must name a user: 1 to \(UserID.maximumLength) bytes without control characters",
                    zh: "--user 应写明用户：1 到 \(UserID.maximumLength) 字节，且不含控制字符"),
                command: command)
        }
        return UserID(text)
    }
}

extension LedgerLocation {
    /// What a command says about an error of its work on the ledger.
    func explained(_ error: any Error, _ language: Language) -> any Error {
        switch error {
        case let fault as DatabaseError: failure(fault)
        case let refused as RefusalError:
            CommandError(
                reasons: [refused.refusal.sentence] + (refused.detail.map { [$0] } ?? []))
        default: error
        }
    }
}

/// `till export --all`.
private struct MoveOutFile {
    private let export: MoveOut
    private let call: Invocation

    init(_ configuration: Configuration, _ ledger: any Database, _ call: Invocation) {
        export = MoveOut(
            ledger, in: configuration.server.usualEnvironment, statedAt: call.process.clock())
        self.call = call
    }

    func write() async throws {
        let output = try ExportOutput(call.text(.all), call.console)
        var (position, rows, leftOut) = (MoveOut.Position(), Int64(0), Int64(0))
        while true {
            let page = try await export.page(at: position)
            for line in page.lines { try output.write(line + "\n") }
            rows += Int64(page.lines.count)
            leftOut += page.leftOut
            guard let next = page.next else { break }
            position = next
        }
        try output.finish()
        if call.wantsJSON {
            call.console.print(JSONValue.object(["rows": .int(rows), "leftOut": .int(leftOut)]).encoded())
        }
        call.say(LocalizedText(en: "\(rows) rows written", zh: "已写出 \(rows) 行"))
        if leftOut > 0 {
            call.warn(
                LocalizedText(
                    en: "\(leftOut) purchases are left out: they have no owner yet, or their customer was erased",
                    zh: "未写出 \(leftOut) 笔购买：尚无归属，或其客户已被抹除"))
        }
    }
}

/// The document, written page by page: it never holds more than one page of the export.
private struct ExportDocument {
    let user: UserID
    let export: CustomerExport
    let call: Invocation
    /// Orders, or rows of other lists, in one page.
    private static let pageSize = 200

    init(user: UserID, export: CustomerExport, call: Invocation) {
        self.user = user
        self.export = export
        self.call = call
    }

    func write() async throws {
        // The first page is read before anything is written, so that an unknown user leaves no file.
        var page = try await export.page(after: nil, limit: Self.pageSize)
        let output = try ExportOutput(call.text(.output), call.console)
        let lists = CustomerExport.lists
        try output.write(head)
        var (current, count) = (-1, 0)
        /// Ends the list under way, and begins the lists up to one of them.
        func advance(to index: Int) throws {
            while current < index {
                current += 1
                count = 0
                let name = JSONValue.string(lists[current]).encoded()
                try output.write((current > 0 ? "]" : "") + ",\n\(name):[")
            }
        }
        while true {
            for entry in page.items {
                try advance(to: lists.firstIndex(of: entry.list) ?? current)
                try output.write((count > 0 ? "," : "") + "\n" + entry.item.encoded())
                count += 1
            }
            guard let next = page.next else { break }
            page = try await export.page(after: next, limit: Self.pageSize)
        }
        try advance(to: lists.count - 1)
        try output.write("]}\n")
        try output.finish()
    }

    private var head: String {
        let omissions = CustomerExport.omissions.map { omission -> JSONValue in
            ["what": .string(omission.what), "why": .string(omission.why(call.language))]
        }
        return "{\"format\":\(CustomerExport.format),\"exportedAt\":"
            + JSONValue.string(call.process.clock().rfc3339).encoded() + ",\"userId\":"
            + JSONValue.string(user.text).encoded() + ",\n\"notIncluded\":" + JSONValue.array(omissions).encoded()
    }
}
