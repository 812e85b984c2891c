#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The arguments of the program.
///
/// The system passes octets. `CommandLine.arguments` repairs arguments that are not UTF-8, which changes requests and names of
/// files. So no other code reads the arguments.
enum ProgramArguments {
    /// The arguments as octets, without the program's name.
    static var octets: [[UInt8]] {
        let words = CommandLine.unsafeArgv
        return (1..<max(1, Int(CommandLine.argc))).compactMap { words[$0] }.map { word in
            Array(UnsafeRawBufferPointer(start: word, count: strlen(word)))
        }
    }

    /// The arguments as texts.
    ///
    /// - Throws: A usage error with the number of an argument that is no UTF-8; it is not repaired.
    static func texts(_ arguments: [[UInt8]]) throws(CommandError) -> [String] {
        var texts: [String] = []
        for (index, argument) in arguments.enumerated() {
            guard let text = String(validating: argument, as: UTF8.self) else {
                throw .usage(
                    "argument \(index + 1) is no text in UTF-8",
                    advice: "Write it in UTF-8; other bytes are sent from a file: --data-binary @FILE."
                )
            }
            texts.append(text)
        }
        return texts
    }
}

/// The variables of the environment.
enum Environment {
    /// A variable that decides what is sent or which files are used, here or in the transport.
    enum Variable: String, CaseIterable {
        case home = "HOME"
        case configuration = "XDG_CONFIG_HOME"
        case cache = "XDG_CACHE_HOME"
        case netrc = "NETRC"
        case noProxy = "no_proxy"
        case noProxyInCapitals = "NO_PROXY"
        case httpProxy = "http_proxy"
        case httpsProxy = "https_proxy"
        case httpsProxyInCapitals = "HTTPS_PROXY"
        case allProxy = "all_proxy"
        case allProxyInCapitals = "ALL_PROXY"
        case authorities = "SSL_CERT_FILE"
        case authorityFolder = "SSL_CERT_DIR"
        case noColour = "NO_COLOR"
        case terminal = "TERM"
        case columns = "COLUMNS"
    }

    /// The value of a variable, which ``check()`` has read; nil when it is not set.
    static func value(_ variable: Variable) -> String? {
        octets(variable.rawValue).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The value of a variable that the user names.
    ///
    /// - Throws: A usage error for a value that is no UTF-8; it is not repaired.
    static func value(named name: String) throws(CommandError) -> String? {
        guard let octets = octets(name) else { return nil }
        guard let text = String(validating: octets, as: UTF8.self) else {
            throw .usage("the variable \(name) is no text in UTF-8", advice: "Set it to a text in UTF-8, or unset it.")
        }
        return text
    }

    /// Checks the variables that the program reads.
    ///
    /// - Throws: A usage error that names the argument that is not UTF-8.
    static func check() throws(CommandError) {
        for variable in Variable.allCases { _ = try value(named: variable.rawValue) }
    }

    private static func octets(_ name: String) -> [UInt8]? {
        getenv(name).map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
    }
}
