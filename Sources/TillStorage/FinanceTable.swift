import TillBilling

extension Schema {
    /// What Apple's financial reports said, line by line, as they were read.
    static let finance: StaticString = """
        CREATE TABLE apple_reports (
            sequence INTEGER PRIMARY KEY,
            digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
            name TEXT NOT NULL,
            imported_at INTEGER NOT NULL,
            actor TEXT NOT NULL
        ) STRICT;

        CREATE TABLE apple_report_lines (
            report_sequence INTEGER NOT NULL REFERENCES apple_reports (sequence),
            number INTEGER NOT NULL,
            starts_on INTEGER NOT NULL,
            ends_on INTEGER NOT NULL,
            product TEXT NOT NULL,
            country TEXT NOT NULL,
            is_return INTEGER NOT NULL CHECK (is_return IN (0, 1)),
            units INTEGER NOT NULL,
            customer_price INTEGER NOT NULL,
            customer_currency TEXT NOT NULL,
            proceeds_each INTEGER NOT NULL,
            proceeds INTEGER NOT NULL,
            proceeds_currency TEXT NOT NULL,
            PRIMARY KEY (report_sequence, number)
        ) STRICT, WITHOUT ROWID;
        """
}
