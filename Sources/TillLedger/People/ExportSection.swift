import TillBilling
import TillJSON
import TillSQL

/// One list of an export: how its rows are read, and what each member shows.
struct ExportSection: Sendable {
    /// The member of the document.
    let name: String
    /// Whether rows belong to an order: they are read for some orders at a time, and ?2 and ?3 are the first order's
    /// predecessor and the last order. For other lists ?2 is the position of the last row that was read, ?3 a number of
    /// rows. ?1 is the customer's number. Each row has a `position`.
    let isOfOrders: Bool
    let rows: SQL
    let members: [Member]

    struct Member: Sendable {
        let name: String
        let column: StaticString
        /// The columns of `PersonalData` that it shows.
        let sources: [String]
        let form: Form

        /// - Parameter sources: separated by spaces.
        init(_ name: String, _ column: StaticString, _ form: Form, of sources: String) {
            self.name = name
            self.column = column
            self.form = form
            self.sources = sources.split(separator: " ").map(String.init)
        }
    }

    enum Form: Sendable {
        case text, number, flag, time, id, environment, status, kind, productType, transactionState
        /// JSON text.
        case json
        case claimState, consumptionState
        /// In minor units; the column of the currency is `currency`.
        case money
        /// In Apple's thousandths; the column of the currency is `currency`.
        case milliunits
    }

    /// One row, as an object. Absent values are left out.
    func item(_ row: any Row) throws -> JSONValue {
        var members: [String: JSONValue] = [:]
        for member in self.members where !row.isNull(member.column) {
            members[member.name] = try Self.value(row, member)
        }
        return .object(members)
    }

    private static func value(_ row: any Row, _ member: Member) throws -> JSONValue {
        let column = member.column
        switch member.form {
        case .text: return .string(row.text(column))
        case .number: return .int(row.integer(column))
        case .flag: return .bool(row.integer(column) != 0)
        case .time: return .string(row.instant(column).rfc3339)
        case .id: return .string(try row.uniqueID(column).description)
        case .environment: return .string(try row.environment(column).rawValue)
        case .status: return .string(OrderStatus(rawValue: Int(row.integer(column)))?.name ?? "unknown")
        case .kind: return .string(CustomerKind(rawValue: row.integer(column)).map { "\($0)" } ?? "unknown")
        case .productType: return .string(ProductType(column: row.integer(column))?.rawValue ?? "unknown")
        case .transactionState:
            return .string(RecordedTransaction.State(rawValue: Int(row.integer(column))).map { "\($0)" } ?? "unknown")
        case .json: return (try? JSONValue(decoding: row.text(column))) ?? .string(row.text(column))
        case .claimState:
            return .string(ClaimTable.State(rawValue: row.integer(column)).map { "\($0)" } ?? "unknown")
        case .consumptionState:
            return .string(ConsumptionTable.State(rawValue: row.integer(column)).map { "\($0)" } ?? "unknown")
        case .money:
            return ["amount": .int(row.integer(column)), "currency": .string(row.text("currency"))]
        case .milliunits:
            guard !row.isNull("currency") else { return .int(row.integer(column)) }
            let money = Money(milliunits: row.integer(column), currency: Currency(row.text("currency")))
            return ["amount": .int(money.amount), "currency": .string(money.currency.text)]
        }
    }
}
