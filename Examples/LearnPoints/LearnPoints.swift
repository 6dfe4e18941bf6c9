import ExampleTerminal

@main
struct LearnPoints {
    static func main() async {
        let launch = Launch.fromCommandLine("learnpoints", speaksJSON: true)
        let app = App(store: launch.store, screen: Screen(terminal: launch.terminal))
        await app.run(user: launch.user, token: launch.token, input: launch.terminal.lines())
    }
}
