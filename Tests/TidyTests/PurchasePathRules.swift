import Testing

/// The files that a purchase passes on the server, in order, each with the type or function that others call. Values
/// such as facts and decisions are passed along.
enum PurchasePath {
    static let files: [(path: String, type: String)] = [
        ("Sources/TillServer/Handlers/Transactions/SubmitTransaction.swift", "submitTransaction"),
        ("Sources/TillLedger/Purchases/PurchaseIntake.swift", "PurchaseIntake"),
        ("Sources/TillAppStore/SignedDataVerifier.swift", "SignedDataVerifier"),
        ("Sources/TillLedger/Purchases/PurchaseProcessor.swift", "PurchaseProcessor"),
        ("Sources/TillLedger/Purchases/PurchaseFacts.swift", "PurchaseReader"),
        ("Sources/TillBilling/Purchases/PurchaseDecision.swift", "OwnerMatcher"),
        ("Sources/TillLedger/Purchases/PurchaseRecorder.swift", "PurchaseRecorder"),
        ("Sources/TillAPI/TransactionBodies.swift", "SubmitProofReply"),
    ]

    static func findings(in sources: [SwiftSource], of files: [(path: String, type: String)]) -> [Finding] {
        files.enumerated().flatMap { index, file -> [Finding] in
            guard let source = sources.first(where: { $0.path == file.path }) else {
                return [Finding(file.path, 0, "is on a purchase's way and is not there: docs/ARCHITECTURE.md")]
            }
            let words = Set(
                source.code.flatMap { $0.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init) })
            var findings: [Finding] = []
            if !words.contains(file.type) { findings.append(Finding(file.path, 0, "does not name \(file.type)")) }
            for earlier in files[..<index] where words.contains(earlier.type) {
                findings.append(Finding(file.path, 0, "names \(earlier.type), which a purchase has passed before"))
            }
            return findings
        }
    }
}

@Suite("The path of a purchase")
struct PurchasePathTests {
    @Test("Its eight files exist, and each names only later ones")
    func eightFiles() {
        #expect(PurchasePath.files.count == 8)
        expectNone(PurchasePath.findings(in: Checkout.current.sources, of: PurchasePath.files))
    }

    @Test("A file that names an earlier one, or is missing, is found")
    func finds() {
        let sources = [
            SwiftSource(path: "Sources/A/First.swift", text: "struct First { let second: Second }"),
            SwiftSource(path: "Sources/A/Second.swift", text: "struct Second { func back(_ first: First) {} }"),
        ]
        let files = [
            (path: "Sources/A/First.swift", type: "First"), (path: "Sources/A/Second.swift", type: "Second"),
            (path: "Sources/A/Third.swift", type: "Third"),
        ]
        let found = PurchasePath.findings(in: sources, of: files).map(\.path)
        #expect(found == ["Sources/A/Second.swift", "Sources/A/Third.swift"])
    }
}
