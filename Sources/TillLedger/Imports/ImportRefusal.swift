import TillBilling

/// Why a row is not imported, and what to do. The codes are stable.
package struct ImportRefusal: Error, Sendable, Hashable {
    package let code: String
    package let sentence: LocalizedText

    private init(_ code: String, en: String, zh: String) {
        self.code = code
        sentence = LocalizedText(en: en, zh: zh)
    }

    // MARK: The row itself

    package static let malformedLine = ImportRefusal(
        "malformed_line", en: "The line is not a JSON object in UTF-8. Write one object on each line.",
        zh: "此行不是 UTF-8 编码的 JSON 对象。请每行写一个对象。")

    package static func malformedRecord(_ expected: Int, _ found: Int) -> ImportRefusal {
        ImportRefusal(
            "malformed_line",
            en: "The row has \(found) fields, and the header \(expected). Quote fields that contain commas.",
            zh: "此行有 \(found) 个字段，表头有 \(expected) 个。含逗号的字段请加引号。")
    }

    package static let lineTooLong = ImportRefusal(
        "line_too_long", en: "The line is longer than 12 MiB. Split it.", zh: "此行超过 12 MiB。请拆分。")

    static func missingField(_ name: String) -> ImportRefusal {
        ImportRefusal("missing_field", en: "\(name) is missing. Add it to the row.", zh: "缺少 \(name)。请补上。")
    }

    static func invalidField(_ name: String) -> ImportRefusal {
        ImportRefusal(
            "invalid_field", en: "\(name) can't be read. docs/moving.md shows what each member may be.",
            zh: "无法读取 \(name)。docs/moving.zh-CN.md 列出了各成员的取值。")
    }

    static let otherStore = ImportRefusal(
        "other_store", en: "The purchase is of another store than Apple's. Leave the row out.",
        zh: "这笔购买不属于 Apple 的商店。请去掉此行。")

    // MARK: The proof

    static func proof(_ error: ProofError) -> ImportRefusal {
        ImportRefusal(
            error.refusal.rawValue,
            en: "The proof fails the check: \(error.refusal.sentence.en) \(error.detail) Fetch the transaction from "
                + "Apple again, or leave the row out.",
            zh: "凭证未通过检查：\(error.refusal.sentence.zh) \(error.chineseDetail) 请重新向 Apple 取得该交易，或去掉此行。")
    }

    static func differsFromProof(_ name: String) -> ImportRefusal {
        ImportRefusal(
            "differs_from_signature", en: "\(name) is not what Apple signed. Correct the row, or leave \(name) out.",
            zh: "\(name) 与 Apple 签名的内容不同。请更正，或去掉 \(name)。")
    }

    static func otherEnvironment(_ wanted: StoreEnvironment) -> ImportRefusal {
        ImportRefusal(
            "other_environment",
            en: "The purchase is not of \(wanted.rawValue), into which this import goes. Leave the row out.",
            zh: "这笔购买不属于此次导入的环境 \(wanted.rawValue)。请去掉此行。")
    }

    static let unknownToApple = ImportRefusal(
        "unknown_to_apple",
        en: "Apple has no such transaction of this app. Correct transactionId, or leave the row out.",
        zh: "Apple 没有本应用的这笔交易。请更正 transactionId，或去掉此行。")

    // MARK: The ledger

    static func unknownProduct(_ id: ProductID) -> ImportRefusal {
        ImportRefusal(
            "unknown_product",
            en: "The catalogue has no product \(id.text). Add it, with what it gives, and import the file again.",
            zh: "商品目录中没有 \(id.text)。请补上该商品及其内容，然后再次导入此文件。")
    }

    static func unknownPoints(_ currency: String) -> ImportRefusal {
        ImportRefusal(
            "unknown_points",
            en: "No product of the catalogue gives \(currency). Add one, or correct currency.",
            zh: "商品目录中没有任何商品给予 \(currency)。请补上，或更正 currency。")
    }

    static let needsExpiry = ImportRefusal(
        "expiry_missing", en: "A subscription without a signed transaction needs expiresAt. Add it.",
        zh: "没有签名交易的订阅需要 expiresAt。请补上。")

    package static let ownedByAnother = ImportRefusal(
        "owned_by_another",
        en: "Another user has this purchase. If it belongs to this user, transfer it after the import.",
        zh: "这笔购买属于另一位用户。若应归此用户，请在导入后转移。")

    static let namesAnother = ImportRefusal(
        "names_another_user",
        en: "What Apple signed, or the subscription that it renews, names another user. Correct userId.",
        zh: "Apple 签名的内容，或它所续订的订阅，指向另一位用户。请更正 userId。")

    static let orderInUse = ImportRefusal(
        "order_in_use",
        en: "The ledger has an order with this id. Its purchase comes by the app, or leave orderId out.",
        zh: "账本中已有此编号的订单。它的购买由应用提交；或去掉 orderId。")

    static let tokenInUse = ImportRefusal(
        "token_in_use", en: "The token is registered for another user, or is the id of an order. Leave the row out.",
        zh: "此令牌已登记给另一位用户，或是某个订单的编号。请去掉此行。")

    static let waitsInQuarantine = ImportRefusal(
        "waits_in_quarantine",
        en: "The purchase waits in quarantine. Decide it on the dashboard, or let the user claim it.",
        zh: "这笔购买正待认领。请在控制台上处理，或由用户认领。")

    static let newerThanLedger = ImportRefusal(
        "newer_than_ledger",
        en: "The ledger has this purchase, and the row is newer: Apple refunded it or reversed a refund. Send the "
            + "transaction to POST /v1/transactions.",
        zh: "账本中已有这笔购买，而此行更新：Apple 已退款，或撤销了退款。请将该交易提交到 POST /v1/transactions。")

    static let erasedUser = ImportRefusal(
        "erased_user", en: "The user was erased from this ledger. Leave the row out.", zh: "此用户已从账本中抹除。请去掉此行。")

    static let otherOpeningBalance = ImportRefusal(
        "balance_exists",
        en: "The wallet has another opening balance. Undo that import, or leave the row out.",
        zh: "此钱包已有另一个期初余额。请撤销那次导入，或去掉此行。")

    static func undecided(_ reason: QuarantineReason) -> ImportRefusal {
        ImportRefusal(
            reason.rawValue,
            en: "The ledger would put the purchase into quarantine (\(reason.rawValue)). Send it to POST "
                + "/v1/transactions, and decide it there.",
            zh: "账本会将这笔购买列为待认领（\(reason.rawValue)）。请提交到 POST /v1/transactions，再作处理。")
    }

    static let emptyReceipt = ImportRefusal(
        "receipt_without_purchase",
        en: "The receipt holds no purchase, or not this one: finished consumables leave it. Use another format.",
        zh: "收据中没有购买，或没有这一笔：已完成的消耗型商品不在收据中。请改用其他格式。")
}
