/// The tables, as a list of migrations: the database's version is how many of them it has been through. A migration
/// that has been released is never edited; a change is a new one at the end.
public enum Schema {
    /// Each entry is a script of statements separated by `;`, run in one transaction together with the new version.
    public static let migrations: [StaticString] = []
}
