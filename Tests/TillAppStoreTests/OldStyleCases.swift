import TillAppStore
import TillCrypto

/// Real old-style receipts with changes in every part: only Apple could make new ones.
enum OldStyleCases {
    static var all: [Oracle.Question] {
        guard let row = SharedVectors.rows.first(where: { $0.id == "mbaasy-tx-sandbox" }),
            let text = Base64Text.decode(row.bytes),
            let info = text.firstMatch(of: /"purchase-info" = "([^"]*)"/)?.1,
            let blobText = text.firstMatch(of: /"signature" = "([^"]*)"/)?.1,
            let blob = Base64.decode(String(blobText)), let purchase = Base64Text.decode(Array(info.utf8))
        else { return [] }
        func with(_ blob: [UInt8]) -> String { text.replacing(blobText, with: Base64.encode(blob)) }
        func purchasing(_ from: String, _ to: String) -> String {
            text.replacing(info, with: Base64Text.encode(purchase.replacing(from, with: to)))
        }
        var altered = blob
        altered[20] ^= 1
        var alteredLeaf = blob
        alteredLeaf[blob.count - 1] ^= 1
        let lines = info.enumerated().map { $0 % 64 == 63 ? "\($1)\n" : "\($1)" }.joined()
        return [
            question("plain", text),
            question("no environment", text.replacing(/\s*"environment" = "Sandbox";/, with: "")),
            question("production claimed", text.replacing("\"Sandbox\"", with: "\"Production\"")),
            question("unknown lines", text.replacing("{\n", with: "{\n\t\"new\" = \"thing\";\n")),
            question("a line twice", text.replacing("\t\"pod\"", with: "\t\"pod\" = \"7\";\n\t\"pod\"")),
            question("another quantity", purchasing("\"quantity\" = \"1\"", "\"quantity\" = \"9\"")),
            question("another product", purchasing("\"product-id\" = \"", "\"product-id\" = \"x")),
            question("purchase info in lines", text.replacing(info, with: lines)),
            question("another signature", with(altered)), question("another certificate", with(alteredLeaf)),
            question("another version", with([7] + blob.dropFirst())), question("no blob", with([])),
            question("no signature line", text.replacing("\"signature\"", with: "\"sign\"")),
            question("no purchase", text.replacing("purchase-info", with: "purchase")),
            question("no text", "hello"), question("empty", ""),
        ]
    }

    private static func question(_ id: String, _ text: String) -> Oracle.Question {
        Oracle.Question(
            id: "old style: \(id)", bytes: Array(Base64Text.encode(text).utf8), kind: .oldStyleReceipt,
            format: "oldstyle-b64")
    }
}
