#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore

extension LoadingError {
    /// Texts for the codes of Foundation's URL error domain.
    public enum URLErrorText {
        /// The text for a code; the text for unknown errors if it has none.
        public static func text(for code: Int, in language: MessageLanguage = .preferred) -> String {
            table.text(code, in: language) ?? Message.unknownError.text(in: language)
        }

        package static let table = MessageTable(
            """
            -1 | Something unexpected went wrong | Ein unbekannter Fehler ist aufgetreten | Une erreur inconnue s'est produite | Si è verificato un errore sconosciuto | In errur nunenconuschent è capità
            -999 | Cancelled | Abgebrochen | Annulé | Annullato | Interrut
            -1000 | The address is malformed | Die Adresse ist fehlerhaft | L'adresse est incorrecte | L'indirizzo non è corretto | L'adressa n'è betg correcta
            -1001 | The server took too long | Der Server hat zu lange gebraucht | Le serveur a mis trop de temps | Il server ha impiegato troppo tempo | Il server ha duvrà memia ditg
            -1002 | This kind of address is not supported | Diese Art von Adresse wird nicht unterstützt | Ce type d'adresse n'est pas pris en charge | Questo tipo di indirizzo non è supportato | Quest tip d'adressa na vegn betg sustegnì
            -1003 | The server's name could not be found | Der Name des Servers wurde nicht gefunden | Le nom du serveur est introuvable | Il nome del server non è stato trovato | Il num dal server n'è betg vegnì chattà
            -1004 | The server cannot be reached | Der Server ist nicht erreichbar | Le serveur est injoignable | Il server non è raggiungibile | Il server n'è betg cuntanschibel
            -1005 | The connection was lost | Die Verbindung wurde unterbrochen | La connexion a été perdue | La connessione è stata interrotta | La colliaziun è vegnida interrutta
            -1006 | The server's name could not be looked up | Der Name des Servers konnte nicht nachgeschlagen werden | La recherche du nom du serveur a échoué | La ricerca del nome del server non è riuscita | La tschertga dal num dal server n'è betg reussida
            -1007 | The server keeps pointing elsewhere | Der Server verweist immer weiter | Le serveur renvoie sans cesse ailleurs | Il server rimanda continuamente altrove | Il server renviescha adina puspè ad in auter lieu
            -1008 | This cannot be had at the moment | Das ist im Moment nicht verfügbar | Ce contenu n'est pas disponible pour le moment | Questo contenuto al momento non è disponibile | Quest cuntegn n'è actualmain betg disponibel
            -1009 | There is no connection to the internet | Es besteht keine Verbindung zum Internet | Il n'y a pas de connexion à Internet | Non c'è connessione a Internet | I na dat nagina colliaziun cun l'internet
            -1010 | The server points to something that does not exist | Der Server verweist auf etwas, das es nicht gibt | Le serveur renvoie à un contenu inexistant | Il server rimanda a qualcosa che non esiste | Il server renviescha ad insatge che n'exista betg
            -1011 | The server's response was not as it should be | Die Antwort des Servers war nicht wie erwartet | La réponse du serveur n'est pas celle attendue | La risposta del server non è quella prevista | La resposta dal server n'è betg sco previs
            -1012 | Signing in was cancelled | Die Anmeldung wurde abgebrochen | L'authentification a été annulée | L'accesso è stato annullato | L'annunzia è vegnida interrutta
            -1013 | You have to sign in first | Sie müssen sich zuerst anmelden | Vous devez d'abord vous connecter | È necessario prima effettuare l'accesso | Vus stuais l'emprim s'annunziar
            -1014 | The server sent nothing | Der Server hat nichts gesendet | Le serveur n'a rien envoyé | Il server non ha inviato nulla | Il server n'ha tramess nagut
            -1015 | The server's data could not be decoded | Die Daten des Servers konnten nicht entschlüsselt werden | Les données du serveur n'ont pas pu être décodées | I dati del server non possono essere decodificati | Las datas dal server n'han betg pudì vegnir decodadas
            -1016 | The server's data could not be decoded | Die Daten des Servers konnten nicht entschlüsselt werden | Les données du serveur n'ont pas pu être décodées | I dati del server non possono essere decodificati | Las datas dal server n'han betg pudì vegnir decodadas
            -1017 | The server's response could not be read | Die Antwort des Servers war unlesbar | La réponse du serveur est illisible | La risposta del server è illeggibile | La resposta dal server n'è betg legibla
            -1018 | The network does not allow data while abroad | Datenroaming ist ausgeschaltet | L'itinérance des données est désactivée | Il roaming dati è disattivato | Il roaming da datas è deactivà
            -1019 | There is no data connection during a call | Während eines Anrufs gibt es keine Datenverbindung | Aucune connexion de données pendant un appel | Nessuna connessione dati durante una chiamata | Durant in telefonat na datti nagina colliaziun da datas
            -1020 | Mobile data may not be used | Mobile Daten dürfen nicht benutzt werden | Les données mobiles ne peuvent pas être utilisées | I dati mobili non possono essere usati | Las datas mobilas na dastgan betg vegnir duvradas
            -1021 | What was to be sent is used up | Die zu sendenden Daten sind aufgebraucht | Les données à envoyer sont épuisées | I dati da inviare sono esauriti | Las datas da trametter èn consumadas
            -1022 | The connection would not be secure | Die Verbindung wäre nicht sicher | La connexion ne serait pas sécurisée | La connessione non sarebbe sicura | La colliaziun na fiss betg segira
            -1100 | The file does not exist | Die Datei gibt es nicht | Le fichier n'existe pas | Il file non esiste | La datoteca n'exista betg
            -1101 | This is a folder, not a file | Das ist ein Ordner, keine Datei | C'est un dossier et non un fichier | È una cartella, non un file | Quai è in ordinatur, betg ina datoteca
            -1102 | The file may not be read | Die Datei darf nicht gelesen werden | Le fichier ne peut pas être lu | Il file non può essere letto | La datoteca na dastga betg vegnir legida
            -1103 | There is more data than allowed | Es sind mehr Daten als erlaubt | Les données dépassent la limite autorisée | I dati superano il limite consentito | Las datas surpassan la limita lubida
            -1104 | The file is outside of where it may be | Die Datei liegt ausserhalb des erlaubten Bereichs | Le fichier se trouve hors de la zone autorisée | Il file si trova fuori dall'area consentita | La datoteca è ordaifer il sectur lubì
            -1200 | No secure connection could be made | Es konnte keine sichere Verbindung hergestellt werden | Impossible d'établir une connexion sécurisée | Impossibile stabilire una connessione sicura | I n'è betg reussì da far ina colliaziun segira
            -1201 | The server's certificate is out of date | Das Zertifikat des Servers ist abgelaufen | Le certificat du serveur est périmé | Il certificato del server è scaduto | Il certificat dal server è scadì
            -1202 | The server could not prove its identity | Der Server konnte sich nicht ausweisen | Le serveur n'a pas pu prouver son identité | Il server non ha potuto dimostrare la propria identità | Il server n'ha betg pudì cumprovar sia identitad
            -1203 | The server's certificate comes from an unknown place | Das Zertifikat des Servers ist von einer unbekannten Stelle | Le certificat du serveur est d'origine inconnue | Il certificato del server è di origine sconosciuta | Il certificat dal server vegn d'in lieu nunenconuschent
            -1204 | The server's certificate is not valid yet | Das Zertifikat des Servers ist noch nicht gültig | Le certificat du serveur n'est pas encore valable | Il certificato del server non è ancora valido | Il certificat dal server n'è anc betg valaivel
            -1205 | The server refused your certificate | Der Server hat Ihr Zertifikat abgelehnt | Le serveur a refusé votre certificat | Il server ha rifiutato il suo certificato | Il server ha refusà Voss certificat
            -1206 | The server wants a certificate of yours | Der Server verlangt ein Zertifikat von Ihnen | Le serveur demande un certificat de votre part | Il server richiede un suo certificato | Il server pretenda in certificat da Vus
            -2000 | This can only be loaded from the network | Das kann nur aus dem Netz geladen werden | Ce contenu ne peut être chargé que du réseau | Si può caricare solo dalla rete | Quai po vegnir chargià mo da la rait
            """
        )
    }
}

extension LoadingError {
    /// The code of the URL error domain for the failure; -1 when there is none.
    public var urlErrorCode: Int {
        switch kind {
        case .cancelled: -999
        case .invalidRequest(.url): -1000
        case .invalidRequest(.unsupportedScheme): -1002
        case .timedOut, .deadlineExceeded: -1001
        case .nameNotResolved: -1003
        case .proxy(.authenticationRequired): -1013
        case .cannotConnect(_, .handshakeFailed): -1200
        case .cannotConnect, .proxy: -1004
        case .connectionLost, .incompleteBody: -1005
        case .malformedResponse(let fault): fault.rule == .contentCoding ? -1016 : -1011
        case .headTooLarge, .bodyTooLarge, .decompressionRatioExceeded: -1103
        case .untrustedServer(let fault): fault.urlErrorCode
        case .pinMismatch: -1202
        case .clientCertificateRequired: -1206
        case .requestBodyFailed: -1021
        case .file(let fault): fault.operation == .read ? -1102 : -1
        case .redirectRefused(.tooMany), .redirectRefused(.loop): -1007
        case .redirectRefused: -1010
        case .authorisationFailed: -1013
        case .notStored: -1008
        case .rateLimited: -1008
        case .unacceptableStatus: -1011
        case .decoding: -1017
        default: -1
        }
    }

    /// A text for display to the user.
    public func text(in language: MessageLanguage = .preferred) -> String {
        switch kind {
        case .unacceptableStatus(let status): status.text(in: language)
        default: LoadingError.URLErrorText.text(for: urlErrorCode, in: language)
        }
    }
}

extension LoadingError.TrustCause {
    fileprivate var urlErrorCode: Int {
        switch cause {
        case .expired, .revoked: -1201
        case .notYetValid: -1204
        case .protocolVersion, .notTLS: -1200
        case .selfSigned, .wrongHost, .untrustedRoot, .weakKey, .other: -1202
        }
    }
}

extension LoadingError: LocalizedError {
    /// The text for display, in one of the user's languages.
    public var localizedDescription: String { text() }

    /// The text that Foundation shows: ``localizedDescription``.
    public var errorDescription: String? { localizedDescription }
}
