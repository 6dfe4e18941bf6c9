import TillLedger
import TillSQL

/// The schemas of two releases that do not exist, for `make upgrade-test`: three migrations after the ledger's own. The
/// program that serves them is built for that test alone (docs/decisions/0070).
package enum UpgradeTestSchema: String, CaseIterable, Sendable {
    /// Adds a column and fills it.
    case expand
    /// Also relies on the column.
    case contract

    package var schema: DatabaseSchema {
        var schema = DatabaseSchema.ledger
        schema.migrations += [Self.addsColumn, Self.fillsColumn]
        if self == .contract { schema.migrations.append(Self.requiresColumn) }
        return schema
    }

    /// The trigger is what a program of that release would write itself.
    private static let addsColumn: Migration = [
        """
        ALTER TABLE orders ADD COLUMN milliunits INTEGER;
        CREATE TRIGGER orders_milliunits AFTER INSERT ON orders
        BEGIN UPDATE orders SET milliunits = price * 10 WHERE row_id = NEW.row_id; END;
        """
    ]

    private static let fillsColumn = Migration(
        Backfill(
            table: "orders",
            statement: """
                UPDATE orders SET milliunits = price * 10 \
                WHERE row_id > ?1 AND row_id <= ?2 AND milliunits IS NULL
                """))

    private static let requiresColumn = Migration(
        [
            """
            CREATE TRIGGER orders_need_milliunits BEFORE UPDATE OF milliunits ON orders WHEN NEW.milliunits IS NULL
            BEGIN SELECT RAISE(ABORT, 'an order without milliunits'); END;
            """
        ], phase: .contract)
}
