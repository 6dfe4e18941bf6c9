import TillLedger
import TillSQL

#if UPGRADE_TEST
    import TillSimulation
#endif

extension DatabaseSchema {
    /// The schema that this program serves: the ledger's. Only the build for `make upgrade-test` has the other branch.
    static var served: DatabaseSchema {
        #if UPGRADE_TEST
            // A file beside the program names the schema, because a hand-over changes neither arguments nor variables.
            let bytes = try? readFile(ProgramStart.ofProcess().path + ".schema", limit: 100)
            let name = String(decoding: bytes ?? [], as: UTF8.self)
            return UpgradeTestSchema(rawValue: name)?.schema ?? .ledger
        #else
            return .ledger
        #endif
    }
}
