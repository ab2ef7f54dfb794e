"""The words of the files in people_files.py: headers, names, streets, jobs in eight languages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Language:
    """The words of a language, in the order of CONCEPTS where they are headers."""

    headers: str
    short: str
    first: str
    last: str
    streets: str
    cities: str
    sexes: str
    marital: str
    jobs: str
    truth: str
    notes: str
    date: str
    national: str
    phone: str
    postal: str
    plate: str
    north: float
    east: float


LANGUAGES: dict[str, Language] = {
    "en": Language(
        "Patient ID,First name,Surname,Maiden name,Date of birth,Sex,Address,Postcode,Town,"
        "Latitude,"
        "Longitude,Phone,E-mail,NHS number,IBAN,Registration plate,Occupation,Marital status,"
        "Education level,Number of children,Annual income,Comments,Mother ID,Diagnosis,Admitted at,"
        "Household,Smoker,Age",
        "pat_id,fname,lname,maiden,dob,sex,addr,zip,town,lat,lng,tel,mail,nhs_no,iban,plate,job,"
        "marital,educ,n_children,income,remarks,mother_id,icd10,adm_datetime,hh_id,smokes,age",
        "Oliver,Amelia,Harry,Isla,Jack,Freya,Alfie,Poppy,Archie,Maisie,Rhys,Nia,Hamish,"
        "Eilidh,Callum",
        "Ashworth,Barraclough,Cartwright,Davies,Entwistle,Fairhurst,Gallagher,Hargreaves,Ibbotson,"
        "Jenkins,Kershaw,Llewellyn,MacLeod,Naylor,Ogden,Pritchard,Rowbotham,Sutcliffe,"
        "Thistlethwaite",
        "{n} Mill Lane|{n} Church Street|{n} Station Road|{n} Victoria Avenue|{n} The Crescent",
        "Leeds,Bradford,Halifax,Huddersfield,Wakefield,Dewsbury,Batley,Keighley",
        "male,female",
        "single,married,divorced,widowed",
        "nurse,teacher,plumber,accountant,lorry driver,shop assistant,retired,carpenter",
        "yes,no",
        "his {k} was treated for the same illness in {y}, lives with {f} {l}|called on Monday, the "
        "{k} {f} answered and said that the pain is worse|moved here after the death of the {k}, "
        "does not want {f} to know",
        "%d/%m/%Y",
        "gb.nhs",
        "0{d4} {d6}",
        "{L2}{d1} {d1}{L2}",
        "{L2}{d2} {L3}",
        53.8,
        -1.7,
    ),
    "de": Language(
        "Patientennummer,Vorname,Nachname,Geburtsname,Geburtsdatum,Geschlecht,Straße,PLZ,Wohnort,"
        "Breitengrad,Längengrad,Telefon,E-Mail-Adresse,Steuer-ID,IBAN,Kennzeichen,Beruf,"
        "Familienstand,Bildungsgrad,Anzahl Kinder,Jahreseinkommen,Bemerkungen,Mutter-ID,Diagnose,"
        "Aufnahmezeitpunkt,Haushalt,Raucher,Alter",
        "pat_nr,vname,nachn,gebname,gebdat,gesch,str_nr,plz,ort,lat,lon,tel,mail,steuerid,iban,kfz_"
        "kennz,beruf,famstand,bildung,anz_kinder,eink,bem,mutter_nr,diag,aufn_zeit,hh_nr,"
        "raucher,alter",
        "Lukas,Hannah,Finn,Mia,Jonas,Lena,Paul,Klara,Moritz,Frieda,Anton,Greta,Jürgen,Ulrike,Björn",
        "Achterberg,Brinkmann,Czerny,Dörfler,Eichhorn,Fuchsberger,Größl,Hinterseer,Jäger,Köhler,"
        "Lindner,Müller,Niedermayer,Oberhauser,Pfeiffer,Quandt,Rösler,Schäuble,Tannhäuser,Zwingli",
        "Hauptstraße {n}|Am Mühlbach {n}|Lindenallee {n}a|Goethestr. {n}|Kirchplatz {n}|"
        "Im Winkel {n}",
        "Augsburg,Ulm,Kempten,Memmingen,Landsberg,Friedberg,Neusäß,Gersthofen",
        "männlich,weiblich,divers",
        "ledig,verheiratet,geschieden,verwitwet",
        "Krankenpfleger,Lehrerin,Schreiner,Buchhalter,Verkäufer,Landwirt,Rentner,Ingenieur",
        "ja,nein",
        "die {k} {f} war {y} wegen derselben Krankheit hier|rief am Montag an, die {k} von {l} "
        "möchte nicht genannt werden|zog nach dem Tod der {k} her und lebt bei Familie {l}",
        "%d.%m.%Y",
        "de.idnr",
        "0{d3}/{d7}",
        "{d5}",
        "A-{L2} {d4}",
        48.4,
        10.9,
    ),
    "fr": Language(
        "Numéro de patient,Prénom,Nom,Nom de jeune fille,Date de naissance,Sexe,Adresse,"
        "Code postal,"
        "Ville,Latitude,Longitude,Téléphone,Courriel,Numéro de sécurité sociale,IBAN,"
        "Immatriculation,Profession,Situation familiale,Niveau d'études,Nombre d'enfants,"
        "Revenu annuel,Commentaires,Numéro de la mère,Diagnostic,Date et heure d'admission,Ménage,"
        "Fumeur,Âge",
        "id_patient,prenom,nom,nom_naissance,ddn,sexe,adresse,cp,commune,lat,lon,tel,mel,nir,rib,"
        "immat,metier,etat_civil,etudes,nb_enfants,revenu,remarques,id_mere,diag,date_adm,menage,"
        "fumeur,age",
        "Léo,Manon,Gabriel,Chloé,Raphaël,Inès,Baptiste,Océane,Théo,Maëlys,Yann,Gwenaëlle,"
        "Aurélie,Loïc",
        "Aubert,Bonnet,Carpentier,Deschamps,Etchegaray,Fournier,Gauthier,Hérault,Joubert,Kerbrat,"
        "Lefebvre,Moreau,Nédélec,Ollivier,Perrin,Quéméneur,Rousseau,Saulnier,Thibault,Vasseur",
        "{n} rue de la République|{n} bis avenue Jean Jaurès|{n} chemin des Vignes|"
        "{n} place du Marché",
        "Rennes,Vannes,Lorient,Quimper,Brest,Fougères,Redon,Pontivy",
        "homme,femme",
        "célibataire,marié,divorcé,veuf,pacsé",
        "infirmière,enseignant,plombier,comptable,vendeuse,agriculteur,retraité,cadre",
        "oui,non",
        "la {k} {f} a eu la même maladie en {y}|a téléphoné lundi, la {k} de {l} ne doit pas le "
        "savoir|vit chez la famille {l} depuis le décès de sa {k}",
        "%d/%m/%Y",
        "fr.nir",
        "0{d1} {d2} {d2} {d2} {d2}",
        "{d5}",
        "{L2}-{d3}-{L2}",
        48.1,
        -2.6,
    ),
    "es": Language(
        "Número de paciente,Nombre,Apellidos,Apellido de soltera,Fecha de nacimiento,Sexo,"
        "Dirección,"
        "Código postal,Municipio,Latitud,Longitud,Teléfono móvil,Correo electrónico,DNI,IBAN,"
        "Matrícula,Profesión,Estado civil,Nivel de estudios,Número de hijos,Ingresos anuales,"
        "Observaciones,ID de la madre,Diagnóstico,Fecha y hora de ingreso,Hogar,Fumador,Edad",
        "nhc,nombre,apell,apell_soltera,fnac,sexo,direc,cp,pobl,lat,lon,tfno,correo,dni,"
        "cuenta_iban,"
        "matricula,prof,est_civil,estudios,num_hijos,ingresos,observ,id_madre,diag,fec_ing,"
        "hogar,fuma,"
        "edad",
        "Alejandro,Lucía,Íñigo,Carmen,Álvaro,Nerea,Jordi,Montserrat,Xosé,Begoña,Pablo,Rocío,"
        "Iker,Ainhoa",
        "Aguirre,Benítez,Cifuentes,Domínguez,Echeverría,Fernández,Garmendia,Hinojosa,"
        "Iglesias,Jiménez,"
        "Larrañaga,Montero,Navarrete,Orozco,Peñalver,Quintanilla,Rodríguez,Salvatierra,"
        "Urrutia,Zabala",
        "Calle Mayor {n}|Avda. de la Constitución {n}, 2º B|Plaza de España {n}|"
        "Paseo del Prado {n}",
        "Bilbao,Vitoria,Getxo,Barakaldo,Eibar,Durango,Basauri,Irun",
        "hombre,mujer",
        "soltero,casado,divorciado,viudo",
        "enfermera,profesor,fontanero,contable,dependienta,agricultor,jubilado,camarero",
        "sí,no",
        "la {k} {f} tuvo la misma enfermedad en {y}|llamó el lunes,"
        " la {k} de {l} no debe saber nada"
        "|vive con la familia {l} desde la muerte de su {k}",
        "%d/%m/%Y",
        "es.dni",
        "6{d2} {d2} {d2} {d2}",
        "{d5}",
        "{d4} {C3}",
        43.2,
        -2.8,
    ),
    "it": Language(
        "Numero paziente,Nome,Cognome,Cognome da nubile,Data di nascita,Sesso,Indirizzo,CAP,Comune,"
        "Latitudine,Longitudine,Cellulare,Posta elettronica,Codice fiscale,IBAN,Targa,Professione,"
        "Stato civile,Titolo di studio,Numero di figli,Reddito annuo,Osservazioni,ID della madre,"
        "Diagnosi,Data e ora di ricovero,Famiglia ID,Fumatore,Età",
        "id_paz,nome,cogn,cogn_nubile,dt_nascita,sesso,indir,cap,citta,lat,lon,cell,email,cod_fisc,"
        "iban,targa,profess,stato_civ,tit_studio,num_figli,reddito,oss,id_madre,diagn,data_ric,"
        "nucleo_familiare,fuma,eta",
        "Matteo,Giulia,Lorenzo,Chiara,Davide,Ginevra,Niccolò,Beatrice,Ettore,Ludovica,"
        "Saverio,Rosalia",
        "Abbagnale,Bevilacqua,Cacciatore,D'Angelo,Esposito,Ferraris,Galimberti,Iannuzzi,Lombardi,"
        "Mastroianni,Negri,Ottaviani,Pellegrini,Quattrocchi,Rinaldi,Santoro,Tagliaferri,Ungaretti",
        "Via Garibaldi {n}|Corso Italia, {n}|Piazza San Marco {n}|Viale dei Tigli {n}/A",
        "Modena,Carpi,Sassuolo,Formigine,Mirandola,Vignola,Pavullo,Maranello",
        "maschio,femmina",
        "celibe,coniugato,divorziato,vedovo",
        "infermiera,insegnante,idraulico,contabile,commessa,agricoltore,pensionato,operaio",
        "sì,no",
        "la {k} {f} ha avuto la stessa malattia nel {y}|ha chiamato lunedì, la {k} di {l} non deve "
        "saperlo|vive con la famiglia {l} dalla morte della {k}",
        "%d/%m/%Y",
        "it.codicefiscale",
        "3{d2} {d7}",
        "{d5}",
        "{L2}{d3}{L2}",
        44.6,
        10.9,
    ),
    "pt": Language(
        "Número de utente,Nome próprio,Apelido,Apelido de solteira,Data de nascimento,Sexo,Morada,"
        "Código postal,Concelho,Latitude,Longitude,Telemóvel,Correio eletrónico,NIF,IBAN,Matrícula,"
        "Profissão,Estado civil,Escolaridade,Número de filhos,Rendimento anual,Comentários,"
        "ID da mãe,Diagnóstico,Data e hora de admissão,Agregado familiar,Fumador,Idade",
        "num_proc,nome,apelido,apel_solteira,dt_nasc,sexo,endereco,cod_postal,localidade,lat,lon,"
        "telem,email,nif,iban,matricula,prof,est_civil,escol,n_filhos,rendimento,obs,id_mae,diag,"
        "dt_adm,agregado,fuma,idade",
        "João,Beatriz,Tomás,Leonor,Gonçalo,Matilde,Afonso,Inês,Simão,Conceição,Vasco,Filipa",
        "Abrantes,Brandão,Carvalho,Damásio,Esteves,Figueiredo,Guimarães,Henriques,Lourenço,"
        "Magalhães,"
        "Nogueira,Oliveira,Pacheco,Quaresma,Rebelo,Simões,Teixeira,Vasconcelos,Xavier",
        "Rua das Flores {n}|Avenida da Liberdade, {n}|Travessa do Carmo {n}|Largo da Sé {n}",
        "Coimbra,Condeixa,Cantanhede,Lousã,Montemor,Penela,Soure,Mealhada",
        "masculino,feminino",
        "solteiro,casado,divorciado,viúvo",
        "enfermeira,professor,canalizador,contabilista,empregada,agricultor,reformado,motorista",
        "sim,não",
        "a {k} {f} teve a mesma doença em {y}|telefonou na segunda,"
        " a {k} de {l} não deve saber|vive "
        "com a família {l} desde a morte da {k}",
        "%d-%m-%Y",
        "pt.nif",
        "9{d2} {d3} {d3}",
        "{d4}-{d3}",
        "{L2}-{d2}-{L2}",
        40.2,
        -8.4,
    ),
    "nl": Language(
        "Patiëntnummer,Voornaam,Achternaam,Meisjesnaam,Geboortedatum,Geslacht,Straat en huisnummer,"
        "Postcode,Woonplaats,Breedtegraad,Lengtegraad,Telefoonnummer,E-mailadres,"
        "Burgerservicenummer,"
        "IBAN,Kenteken,Beroep,Burgerlijke staat,Opleidingsniveau,Aantal kinderen,Jaarinkomen,"
        "Opmerkingen,Moeder ID,Diagnose,Datum en tijd opname,Huishouden,Rookt,Leeftijd",
        "pat_nr,vnaam,anaam,meisjesnm,gebdat,gesl,adres,pc,plaats,lat,lon,tel,mail,bsn,rekeningnr,"
        "kenteken,beroep,burg_staat,opl,aant_kind,inkomen,opm,moeder_nr,diag,opn_datum,"
        "huish_id,rookt,"
        "lft",
        "Daan,Sanne,Bram,Fleur,Thijs,Lotte,Sjoerd,Femke,Jelle,Marijke,Wouter,Anouk",
        "Aalbers,Boersma,Claassen,Dijkstra,Elzinga,Feenstra,Groenewegen,Hoekstra,IJzerman,Jansen,"
        "Kuipers,Leeuwenhoek,Molenaar,Nijhuis,Oosterhuis,Postma,Rietveld,Schouten,"
        "Timmermans,Zijlstra",
        "Dorpsstraat {n}|Prinsengracht {n}|Kerkplein {n}|Molenweg {n}b|Beatrixlaan {n}",
        "Leeuwarden,Sneek,Drachten,Heerenveen,Franeker,Dokkum,Bolsward,Harlingen",
        "man,vrouw",
        "ongehuwd,gehuwd,gescheiden,weduwe",
        "verpleegkundige,leraar,loodgieter,boekhouder,verkoper,boer,gepensioneerd,kok",
        "ja,nee",
        "de {k} {f} had in {y} dezelfde ziekte|belde maandag,"
        " de {k} van {l} mag het niet weten|woont "
        "bij de familie {l} sinds de dood van de {k}",
        "%d-%m-%Y",
        "nl.bsn",
        "06-{d8}",
        "{d4} {L2}",
        "{L2}-{d3}-{L1}",
        53.2,
        5.8,
    ),
    "pl": Language(
        "Numer pacjenta,Imię,Nazwisko,Nazwisko panieńskie,Data urodzenia,Płeć,Ulica,Kod pocztowy,"
        "Miejscowość,Szerokość geograficzna,Długość geograficzna,Telefon,Adres e-mail,PESEL,"
        "Numer rachunku,Numer rejestracyjny,Zawód,Stan cywilny,Wykształcenie,Liczba dzieci,"
        "Dochód roczny,Uwagi,ID matki,Rozpoznanie,Data i godzina przyjęcia,Gospodarstwo domowe,"
        "Palacz,Wiek",
        "nr_pac,imie,nazw,nazw_pan,dt_ur,plec,adres,kod_poczt,miasto,lat,lon,tel,mail,pesel,iban,"
        "nr_rej,zawod,stan_cyw,wykszt,l_dzieci,dochod,uwagi,id_matki,rozp,dt_przyj,gosp_id,"
        "pali,wiek",
        "Jakub,Zuzanna,Szymon,Maja,Wojciech,Agnieszka,Łukasz,Małgorzata,Krzysztof,Żaneta,"
        "Paweł,Jadwiga",
        "Adamczyk,Błaszczykowski,Chmielewska,Dąbrowski,Fijałkowska,Grzybowski,Jabłońska,"
        "Kaźmierczak,"
        "Lewandowski,Mazurek,Nowicka,Ostrowski,Pawłowska,Rutkowski,Szczepańska,Wiśniewski,"
        "Zieliński",
        "ul. Kościuszki {n}|al. Jana Pawła II {n}/4|os. Piastów {n}|ul. Leśna {n}",
        "Poznań,Gniezno,Września,Śrem,Kórnik,Luboń,Swarzędz,Szamotuły",
        "mężczyzna,kobieta",
        "kawaler,żonaty,rozwiedziony,wdowiec",
        "pielęgniarka,nauczyciel,hydraulik,księgowa,sprzedawca,rolnik,emeryt,kierowca",
        "tak,nie",
        "jego {k} {f} miała tę samą chorobę w {y}|dzwonił w poniedziałek, {k} pani {l} nie może "
        "wiedzieć|mieszka u rodziny {l} od śmierci swojej {k}",
        "%d.%m.%Y",
        "pl.pesel",
        "{d3} {d3} {d3}",
        "{d2}-{d3}",
        "PO {d4}{L1}",
        52.4,
        16.9,
    ),
}
KIN = {
    "en": "mother,brother,wife,uncle",
    "de": "Mutter,Schwester,Tante,Großmutter",
    "fr": "mère,sœur,tante,cousine",
    "es": "madre,hermana,tía,prima",
    "it": "madre,sorella,zia,cugina",
    "pt": "mãe,irmã,tia,prima",
    "nl": "moeder,zus,tante,nicht",
    "pl": "matka,siostra,ciotka,babcia",
}
ICD_CODES = (
    *("E11.9", "I10", "J18.9", "N18.3", "F32.1", "K35.8", "C50.9", "M54.5", "J44.1", "I21.4"),
    *("E78.0", "G40.9", "S72.0", "O80", "R07.4", "H25.1", "L40.0", "D50.9", "B34.9", "A09"),
)
