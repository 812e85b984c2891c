/// The texts that belong to no code.
package enum Message: Int, CaseIterable {
    case severalErrors = 1
    case invalidData
    case unknownError
    case publicWiFi

    package static let table = MessageTable(
        """
        1 | Several things went wrong | Mehrere Fehler sind aufgetreten | Plusieurs erreurs se sont produites | Si sono verificati più errori | Plirs errurs èn capitads
        2 | The server's response could not be read | Die Antwort des Servers war unlesbar | La réponse du serveur est illisible | La risposta del server è illeggibile | La resposta dal server n'è betg legibla
        3 | Something unexpected went wrong | Ein unbekannter Fehler ist aufgetreten | Une erreur inconnue s'est produite | Si è verificato un errore sconosciuto | In errur nunenconuschent è capità
        4 | You seem to be on a public WiFi that wants you to sign in first | Dieses öffentliche WLAN (WiFi) verlangt offenbar zuerst eine Anmeldung | Ce réseau WiFi public semble demander une connexion préalable | Questa rete WiFi pubblica sembra richiedere prima un accesso | Questa rait WiFi publica pretenda probablamain l'emprim in'annunzia
        """
    )

    /// The text in a language.
    package func text(in language: MessageLanguage) -> String {
        Self.table.text(rawValue, in: language) ?? ""
    }
}
