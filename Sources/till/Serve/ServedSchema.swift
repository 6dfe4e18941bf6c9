import TillLedger
import TillSQL

extension DatabaseSchema {
    /// The schema that this program serves.
    static var served: DatabaseSchema {
        #if UPGRADE_TEST
            .upgradeTest
        #else
            .ledger
        #endif
    }
}
