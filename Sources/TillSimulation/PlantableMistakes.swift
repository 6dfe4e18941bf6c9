import TillBilling

/// Plants a mistake in the code that a world runs. The build that ships contains none.
enum PlantableMistakes {
    #if PLANTED_MISTAKES
        static let names = PlantedMistake.allCases.map(\.rawValue)

        static func with<Result>(_ name: String?, _ body: () throws -> Result) rethrows -> Result {
            try PlantedMistake.$current.withValue(name.flatMap { PlantedMistake(rawValue: $0) }, operation: body)
        }

        static func with<Result: Sendable>(_ name: String?, _ body: @Sendable () async -> Result) async -> Result {
            await PlantedMistake.$current.withValue(name.flatMap { PlantedMistake(rawValue: $0) }, operation: body)
        }
    #else
        static let names: [String] = []

        static func with<Result>(_ name: String?, _ body: () throws -> Result) rethrows -> Result { try body() }

        static func with<Result: Sendable>(_ name: String?, _ body: @Sendable () async -> Result) async -> Result {
            await body()
        }
    #endif
}
