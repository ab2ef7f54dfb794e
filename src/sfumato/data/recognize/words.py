"""Words in the names of columns, in English, German, French, Spanish, Italian, Portuguese, Dutch
and Polish.

An entry is a word of the name, `_` a place where words may be joined or apart; `*` leaves an end
open, `=` asks for the whole name, and `#` for a word for "number" behind it or before it
("patient_no", "id_paciente"). Names are compared in lower case and without accents. The first line
that describes a name, and that the values allow, decides. Further languages are in tongues.py.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from .tongues import MORE

_NUMBER = "no|nr|num|numer|number|nummer|numero|nbr|id|ids|code|key|kennung|kenn|cod|codigo|codice"
_OF = "(?:de_|del_|della_|da_|do_|di_|du_|des_|d_|la_|le_|van_|der_)*"

_WORDS: tuple[tuple[str, str], ...] = (
    ("fax", "fax* telefax*"),
    (
        "e-mail",
        "*e_mail* mail* *_mail courriel* correo correo_electronico correo_e poczta* "
        "posta_elettronica =pec",
    ),
    (
        "telephone",
        "*telephone* *telefon* *telefoon* phone* *phone =tel tel_* *_tel mobile* handy* =cell "
        "cell_no cell_number *_cell pager movil* celular* cellulare* portable* gsm telemovel* "
        "komorka* rufnummer* =fon festnetz* *mobilnummer* mobiel* telnr telno whatsapp mobil "
        "contact_number contact_no contact_nr kontaktnummer* numero_contacto",
    ),
    (
        "ip-address",
        "=ip ip_addr* *ip_address* adresse_ip direccion_ip ip_adres* indirizzo_ip endereco_ip "
        "adres_ip ipv4 ipv6 =client_ip *_ip",
    ),
    (
        "url",
        "url* *_url website* *webseite* homepage* web_page* web_site* site_web sito_web "
        "pagina_web strona_www strona_internetowa linkedin* facebook* twitter* instagram*",
    ),
    (
        "device",
        "device# *imei* *mac_addr* =mac serial# =serial seriennummer* *geratenummer* "
        "*geraetenummer* numero_de_serie numero_serie numero_di_serie serienummer* "
        "numer_seryjny udid udi idfa advertising_id",
    ),
    (
        "national-number",
        "ssn* *_ssn social_security* *sozialversicherung* sv_nr svnr sv_nummer svnummer "
        "national_id* national_insurance* nino *securite_sociale* num_secu* nir nss dni nie "
        "nif cpf bsn *burgerservice* sofinummer pesel nip codice_fiscale* cod_fisc* codfisc "
        "=cf *personalausweis* ausweis# personnummer *steuer_id* *steuernummer* "
        "*steueridentifikation* tax_id* tax# tin identificacion_fiscal numero_fiscal "
        "contribuinte* numero_identificacion documento_identidad =documento cedula* curp ahv* "
        "avs avs# rodne* identity_number* id_card* identity_card* carte_identite* "
        "carta_identita* cartao_cidadao dowod* numer_dowodu seguridad_social *rijksregister* "
        "identiteitskaart* aadhaar* citizen# personenkennzahl *nationalnummer* nin",
    ),
    (
        "health-number",
        "insur*# plan# member# beneficiary# policy# medicare# medicaid# subscriber# mbi hicn "
        "nhs# nhs versicherten* versicherungs# versicherungsnummer* *krankenversicher*# kvnr "
        "kv_nr kv_nummer *kassennummer* carte_vitale* tarjeta_sanitaria* tessera_sanitaria* "
        "numero_utente polis# polisnummer* poliza* polizza* *verzekering*# ubezpieczen*# "
        "mutuelle# assurance# assure# asegurado# seguro# cns",
    ),
    (
        "other-person",
        "mother# father# parent# partner# spouse# sibling# brother# sister# twin# contact# "
        "index_case* linked_case* related# relative# guardian# infected_by infector* "
        "source_case* source# mutter# vater# eltern# ehepartner# ehegatte*# geschwister# "
        "kontaktperson# kontakt# mere# pere# conjoint# madre# padre# conyuge# pareja# "
        "coniuge# mae# pai# conjuge# moeder# vader# ouder# matka# matki# ojciec# ojca# "
        "malzon*# rodzic*# doctor# arzt# hausarzt# medecin# medico# huisarts# arts# lekarz*# "
        "physician# nurse# teacher# lehrer# interviewer# supervisor# manager# vorgesetzt*# "
        "next_of_kin# referrer# referred_by caregiver# bezugsperson# mother_case* "
        "father_case* partner_case* spouse_case* contact_case* mother_record* father_record* "
        "spouse_record* partner_record* sibling_record* relative_record*",
    ),
    (
        "record-number",
        "mrn medical_record* record# record_locator chart# patient# patienten# case# fall# "
        "client# person# personal# personen# encounter# episode# specimen# accession# "
        "admission# visit# subject# proband*# teilnehmer# respondent# participant# employee# "
        "mitarbeiter# matrikel* matriculation* student# schuler# schueler# eleve# etudiant# "
        "alumno# estudiante# kunde# kunden# customer# user# mitglied# mitglieds# "
        "aktenzeichen* akte# akten# dossier# expediente# historia_clinica* historia# nhc "
        "cartella_clinica* cartella# processo# sprawa# sprawy# klient*# klant# pacjent*# "
        "paciente# paziente# utente# cliente# verblijf# opname# sejour# aufnahme# proben# "
        "probe# lab# befund# staff# worker# lavoratore# trabajador# empleado# pracownik*# "
        "medewerker# socio# pupil# learner# inwoner# leerling# uczen# ucznia# matric# "
        "incident# arrest# booking# seqn employe# funcionario# funzionario# dipendente# "
        "asistido#",
    ),
    (
        "account",
        "iban* *_iban konto# =konto *kontonummer* account# acct# =account =acct bank_account* "
        "card# *kreditkarte* credit_card* *tarjeta_credito* tarjeta# carte_bancaire* "
        "carta_credito* carta_di_credito cartao_credito* cartao# rekening# *rekeningnummer* "
        "=rachunek rachunek# numer_rachunku =rib conto_corrente* cuenta# cuenta_bancaria* "
        "compte# compte_bancaire conta# conta_bancaria bic swift cc_num* card_*",
    ),
    (
        "licence",
        "*licen[cs]e* licen[cs]ia* licen[cz]a* certificate* passport* *pasaporte* "
        "*passaporte* *passeport* *reisepass* pass# *paspoort* *paszport* *passaporto* "
        "*fuhrerschein* *fuehrerschein* permis_conduire permis_de_conduire carnet_conducir "
        "carne_conducir patente* rijbewijs* prawo_jazdy carta_conducao drivers driver# "
        "approbation* visa# permit#",
    ),
    (
        "plate",
        "vehicle# vehicle vin fahrgestell* *kennzeichen* *plate plate* *immatriculation* "
        "=matricula matricula_* targa* kenteken* *rejestracyjn* placa* nummernschild*",
    ),
    (
        "biometric",
        "finger_print* voice_print* *biometr* retina* iris_scan* iris_code* *fingerabdruck* "
        "empreinte_digitale* huella* impronta* *odcisk* vingerafdruk* genome_seq* dna_seq*",
    ),
    (
        "photograph",
        "photo photos photograph* portrait* picture* lichtbild* foto fotos fotograf* "
        "face_image* passbild* =bild zdjecie* immagine* imagen* *_photo *_foto *_pic "
        "*_picture *_image",
    ),
    (
        "name",
        "first_name* last_name* sur_name* given_name* family_name* full_name* middle_name* "
        "maiden_name* nick_name* user_name* fore_name* second_name* preferred_name* "
        "birth_name* patient_name* doctor_name* physician_name* provider_name* guardian_name* "
        "spouse_name* mother_name* father_name* relative_name* contact_name* employer_name* "
        "employee_name* person_name* student_name* customer_name* client_name* child_name* "
        "partner_name* parent_name* teacher_name* nurse_name* owner_name* mothers_name* "
        "fathers_name* name_of_patient name_last name_first name_full =name =names =name_1 "
        "=first =last =middle =maiden =fname =lname =mname =patient =patients *initials "
        "next_of_kin =kin nachn* vorn* *familienname* *geburtsname* geb_name* rufname* "
        "zuname* madchenname* maedchenname* spitzname* benutzername* *patientenname* =nom "
        "=noms nom_de_famille nom_famille nom_naissance nom_de_naissance nom_usage "
        "nom_patient nom_complet nom_jeune_fille nom_prenom* prenom* =nombre =nombres "
        "nombre_completo nombre_paciente nombre_apellid* nombre_y_apellid* primer_nombre "
        "segundo_nombre apellid* =nome nome_completo nome_paziente nome_paciente nome_cognome "
        "nome_e_cognome nome_mae nome_da_mae nome_pai nome_proprio cognome* sobrenome* "
        "apelid* =naam volledige_naam *achternaam* *voornaam* *roepnaam* *meisjesnaam* imie* "
        "imiona nazwisk* pat_name kin_name gp_name officer_name attending* =nurse =doctor "
        "=teacher =surgeon =physician hausarzt* behandelnd* ansprechpartner* "
        "emergency_contact* notfallkontakt* medecin* med_traitant medico_* =medico lekarz* "
        "huisarts* =owner =author =namn efternamn* fornamn* *_namn =navn etternavn* fornavn* "
        "sukunimi* etunimi* =isim soyad* soyisim* prijmeni* =jmeno =nev vezeteknev* "
        "keresztnev* =nume prenume* =carer =assessor",
    ),
    (
        "address",
        "address* *address *addr addr* adresse* *adresse direccion* indirizzo* endereco* "
        "=adres adres_* ulica* *strasse* *str_nr street* *street =rue rue_* =calle calle_* "
        "=via =rua rua_* straat* *straatnaam* domicilio* morada* *anschrift* hausnummer* "
        "hausnr* house_no* house_number* huisnummer* numero_civico nr_domu domicile*",
    ),
    (
        "postal-code",
        "zip zip_code* zip[35] *_zip post_code* postal* *postleitzahl* plz* *_plz "
        "code_postal* =cp codigo_postal* cod_postal* =cap codice_postale* =cep =npa "
        "kod_pocztowy* eircode* postnummer* postnr* pin_code",
    ),
    (
        "coordinate",
        "lat =long lon lng latitud* longitud* *latitude *longitude breitengrad* langengrad* "
        "laengengrad* szerokosc_geo* dlugosc_geo* lengtegraad* breedtegraad* *coord "
        "*coord_[xy] coord* *coordinate* *koordinat* *coordenad* *wspolrzedn* gps* *_gps "
        "geo_point* geopoint* geom geometry wkt geo_hash* easting* northing* *hochwert* "
        "*rechtswert* utm* *_lat *_lon *_lng *_long coordonnee* plus_code what3words",
    ),
    (
        "household",
        "household# =household hh# =hid *_hid hhid family# haushalt# haushalts# =haushalt "
        "menage# =menage hogar# =hogar famiglia# nucleo_familiare* agregado# "
        "agregado_familiar huishoud*# =huishouden gospodarstwo gospodarstw*# gosp# huish# "
        "=agregado dwelling# foyer# =foyer familien# famille# familia# rodzin*#",
    ),
    (
        "place",
        "city* *_city town* village* county* precinct* parish* *municipal* borough* district* "
        "suburb* neighbo* commune* puma* fips* msa cbsa geo geo_code* *birth_place* "
        "place_of_birth place place_of_* hometown location census_tract* census_block* ort "
        "*_ort *wohnort* *geburtsort* stadt *_stadt gemeinde* kreis *landkreis* bezirk* ags "
        "stadtteil* viertel ville* lieu* departement* arrondissement* quartier ciudad* "
        "municipio* localidad* lugar* comarca* barrio* citta* comune* provincia* quartiere* "
        "luogo* cidade* concelho* freguesia* bairro* localidade* naturalidade* distrito* "
        "*plaats* stad gemeente* wijk* buurt* miasto* miejscowosc* gmina* powiat* miejsce* "
        "nuts_?3 lau residence* *wohnsitz* residencia* residenza* woonadres",
    ),
    ("age", "age ages agep alter =alter *_alter alter_* edad* =eta eta_* idade* leeftijd* wiek*"),
    (
        "year",
        "year* *_year yob *jahr *_jahr annee* =ano ano_* anno* *jaar =rok rok_* *birthyear =born",
    ),
    (
        "date",
        "date* *date *datum* fecha* data data_* dob birthday* birth* *_birth geb geb_* "
        "geburt* *geboorte* naissance* nacimiento* nascita* nascimento* urodz* data_ur* "
        "date_time* *timestamp* *zeitpunkt* dzien* *tijdstip* heure* hora* *uhrzeit* "
        "*godzina* *_at *_time *_on *_dt dt_* *_ts =ts gebdat* fec_* =ddn fnac* f_nac*",
    ),
    (
        "date-part",
        "month weekday day_of_week dow *_month *_weekday *_dow *_quarter quarter "
        "(?:birth|admission|admit|discharge|death|visit|service)_(?:day|time|hour|week) "
        "*monat *wochentag mois jour_semaine =mes mes_* mese maand miesiac* quartal trimestre "
        "dia_semana =day =tag =jour =dia =giorno =dag",
    ),
    (
        "weight",
        "(?:sampl|survey|design|person|replicate|final|analysis|base|post|calib|expan|rep|pop)"
        "[a-z]*_w(?:eigh)?t[a-z]* *_wgt* wgt* =wt wt[0-9]* wt_* *_wt pwgtp pweight* fnlwgt "
        "weight* *_weight* w_* *gewicht *gewichtung* *hochrechnung* *wegingsfactor* "
        "weging* gewicht* poids* *ponderation* pond* *ponderacion* peso* *factor_expansion* "
        "*pesatura* *ponderacao* waga* =wagi wagi_* fator_expansao* coefficient_pond* *wt "
        "wt[a-z]* =gew gew_[a-z]* vikt*",
    ),
    (
        "trait",
        "*sex gender* *_gender geschlecht* sexe sexo sesso geslacht* plec* race* *_race "
        "*ethni* etni* marst* relig* konfession* *marital* marriage* civil_status etat_civil* "
        "situation_familiale estado_civil* stato_civile* *familienstand* burgerlijke_staat "
        "stan_cywilny prefix* suffix* =title salutation* anrede* titel civilite* tratamiento "
        "titolo* =titulo aanhef tytul* *educ* *edu *bildung* *abschluss* diplom* etudes* "
        "niveau_etude* estudios* istruzione* escolaridade* nivel_educ* opleiding* onderwijs* "
        "wyksztalcen* school schools school_* *_school schul* ecole* escuela* scuola* degree* "
        "occup* *job job_* profession* beruf* *beruf metier* profesion* professione* "
        "profissao* ocupacion* beroep* zawod* work_class* industry* branche* employ* erwerb* "
        "emploi* empleo* language* *sprache* langue* idioma* lingua* =taal jezyk* "
        "mother_tongue household_* hh_size *haushaltsgrosse* *haushaltsgroesse* children* "
        "n_child* *_child kinder* *enfants* *hijos* *figli* *filhos* kinderen* *dzieci* "
        "housing* tenure* height* korpergrosse* koerpergroesse* =grosse =groesse taille "
        "altura* estatura* altezza* lengte* wzrost* veteran* disab* *behinderung* handicap* "
        "length_of_stay los *_size siblings* sib_* sibsp parch fam* guardian* *vormund* "
        "migration* immigra* *herkunft* ancestry* tribe caste *blood_group* hair* eye_* "
        "est_civ* stan_cyw* stato_civ* sit_fam* fam_stand* burg_staat *blutgruppe* "
        "grupo_sanguineo gruppo_sanguigno blood_type grosse_* groesse_* empl_* *menage* "
        "*hogar* *agregado* *huishoud* *gospodarstw* godsdienst* *wyznan* *credo* *faith*",
    ),
    (
        "region",
        "state *_state province* region* *_region country* *_country bundesland* =land land_* "
        "pays =estado estado_* pais* =stato stato_* nazione* =kraj kraj_* wojewodztw* =staat "
        "provincie* regio* kanton* canton* nation* *national* citizen* *staatsang* nacional* "
        "obywatel* nazional* cittadinanza* cidadania* ciudadania* continent* nuts_?[12] "
        "provinz* uf geboorteland herkunftsland geburtsland *_land",
    ),
    (
        "target",
        "readmi* *_readmi* died dead death *surviv* mortal* outcome* *_outcome target* =label "
        "=class =y churn* verstorben* decede* fallecid* decedut* falecid* overleden* zmarl* "
        "*zgon* exited attrition* fraud*",
    ),
    (
        "diagnosis",
        "*diagnos* *icd* dx* *_dx krankheit* *erkrankung* maladie* enfermedad* malattia* "
        "doenca* ziekte* chorob* rozpozn* comorbid* disease* illness* diabet* hypertens* "
        "asthma* stroke* copd* epilep* hepat* tubercul* covid* infarct* arthrit* dementia* "
        "chronic* cause_of_death *todesursache*",
    ),
    (
        "private",
        "*income* *salar* *wage* earn* *_earn* pearn* *earnings pay pay_* paid *_pay expens* "
        "*_expens* *cost *costs cost_* charge* *_charge* *balance* *debt* *loan* credit* "
        "default* mortgage* rent wealth* asset* revenue* *tax *_taxes tax_* fare fee fees "
        "*amount* coverage* *_coverage spend* price* *einkommen* eink* *lohn* *gehalt* "
        "*kosten* *miete* *vermogen* *schulden* *kredit* *betrag* *steuer* umsatz* revenu* "
        "salaire* *cout* loyer* dette* *montant* impot* ingreso* sueldo* *coste* alquiler* "
        "deuda* *importe* reddito* stipendi* *costo* affitto* debit* *importo* rendiment* "
        "renda* ordenado* custo custos *_custo divida* aluguel* *inkomen* loon* *bedrag* "
        "huur* schuld* *dochod* *zarob* *wynagrodz* pensja* *koszt* *kwota* czynsz* dlug* "
        "symptom* *drug* *medic* *medik* therap* treat* procedure* hiv* *cancer* *krebs* "
        "psych* *alcohol* *alkohol* *smok* *rauch* *tabac* *fuma* *fumo* *rook* *palen* "
        "*papieros* pregnan* *schwanger* score* *_score grade grades gpa fail* *_fail* "
        "romantic* *sup support* crim* offen[cs]e* *sexual* politic* *vote* *voting* *partei* "
        "partido* partito* *partij* abuse* violen* addict* depress* anxi* satisf* *zufrieden* "
        "opinion* attitude* trust* bmi glucose* *cholesterol* *pressure* *blutdruck* "
        "creatinin* *hemoglobin* *haemoglobin* hba1c sodium potassium wbc rbc hgb hct mcv mch "
        "mchc plt platelet* ast alt alp ggt bun urea crp ldl hdl *triglyc* insulin* ferritin* "
        "tsh inr egfr *bilirubin* albumin* calcium* allerg* vaccin* *impf* *test_result* "
        "*befund* *result* bp_* sbp dbp pulse heart_rate* temperature* genotype* snp* gene_* "
        "retribu* remuner* compens* vergut* verguet* bezuge bonus* pension* benefit* health "
        "*_health gesundheit* sante salud* salute* saude* gezondheid* zdrowie* chol* *bps "
        "ecg* *ecg",
    ),
    (
        "free-text",
        "comment* note notes *_notes *_note remark* bemerkung* anmerkung* kommentar* notiz* "
        "commentaire* remarque* observac* observaz* comentario* nota* osservaz* opmerking* "
        "uwag* komentarz* anamnes* *text text_* descri* beschreib* narrative* history "
        "verlauf* erganzung* toelichting* opis* *freitext* *verbatim* letter* offen* *_offen "
        "open_* *_open anteckning* notat* huomau* poznam* megjegyz* observat*",
    ),
    (
        "unique-code",
        "=id uid uuid guid pid =key =rowid =index =token hash session# cookie* login handle",
    ),
)
BIRTH = re.compile(
    r"birth|born|(^|_)(dob|yob|geb|ddn|ne_le)(_|$)|geburt|geboorte|naiss|nacimi|nasci|urodz|fodel|fodsel|fodt"
    r"|syntym|dogum|naroz|szulet|naster|rodenj|ngay_sinh|lahir|рожд|народ|γεννησ|ميلاد|تولد|生年|出生|生日"
    r"|誕生|생년|출생"
)
"""Names of columns that tell when a person was born."""
NUMBERED = re.compile(
    rf"(^|_)({_NUMBER})$|^({_NUMBER})_|nummer$|_nr\d*$|(番号|编号|編號|号码|번호)$|[^\x00-\x7f]id$|^(رقم|номер|код|αριθμος)_"
    r"|_(номер|код|numara|cislo|szam|numero)$"
)
"""Names of columns that say that they number something."""
COUNTED = re.compile(
    r"(^|_)(count|number_of|num|n|nb|nbr|anz|anzahl|nombre|numero|aant|aantal|liczba|ile|cuantos)_|_count$"
    r"|_size$|groesse$|grosse$|taille_d|tamano|dimens|grootte$|wielkosc|componenti|^anzahl|^aantal|^liczba|visits$|children$|siblings$|rooms$|times$"
    r"|^antal|^lukumaara|_sayisi$|^количеств|^число|^عدد|人数$|^so_luong"
)
"""Names of columns that count something."""
SEX = re.compile(
    r"^(sex|gender|geschlecht|sexe|sexo|sesso|geslacht|plec|kon|kjonn|sukupuoli|cinsiyet|пол|φυλο"
    r"|الجنس|جنس|性別|性别|성별)\d*$"
)
"""Names of columns whose two numbers are no truth values."""
UNORDERED = re.compile(
    r"sex|gender|geschl|sesso|geslacht|plec|rac[ae]|ethni|relig|konfess|marital|civil|famil|famst"
    r"|burgerl|cywil|job|occup|beruf|metier|profes|profis|beroep|zawod|industr|branch|langu|sprach"
    r"|idiom|lingu|taal|jezyk|type|typ$|art$|stat$|status|categor|kategor|etni|relat|code$|kind(_|$)"
    r"|godsdienst|wyznan|^kon$|kjonn|sukupuoli|cinsiyet|^пол$|φυλο|جنس|性別|性别|성별|yrke|ammatti|meslek"
)
"""Names of columns whose numbers are codes of categories without an order."""
GRADED = re.compile(
    r"edu|bildung|abschluss|etude|estudio|istruz|escolar|opleid|onderwijs|wykszt|level|niveau|nivel"
    r"|livello|poziom|stufe|utbild|utdann|koulut|egitim|образов|εκπαιδ|学歴|学历|학력"
    r"|grad|class|klasse|classe|clase|stage|stadium|severity|schwere|scale|skala"
)
"""Names of columns whose numbers are grades."""


def _pattern(entry: str) -> str:
    """One entry as a regular expression."""
    whole = entry.startswith("=")
    open_left, open_right = entry.startswith("*"), entry.endswith("*")
    counted = entry.endswith("#")
    body = entry.strip("=#").removeprefix("*")
    body = body if counted else body.removesuffix("*")
    if not body.isascii():
        body = "_" * body.startswith("_") + plain_name(body)
    body = re.sub(r"(?<![\\(\[])\*", "[a-z]*", body)
    body = re.sub(r"(?<=.)_(?=[^?])", "_?", body)  # at an end it stands for itself
    if whole:
        return rf"^{body}\d*$"
    if counted:
        return rf"(?:^|_){body}s?_?(?:{_NUMBER})\d*$|(?:^|_)(?:{_NUMBER})_{_OF}{body}[a-z]{{0,3}}$"
    left = "" if open_left else "(?:^|_)"
    right = "" if open_right else r"(?:_|\d|$)"
    return f"{left}{body}{right}"


@lru_cache(maxsize=1)
def _compiled() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (what, re.compile("|".join(map(_pattern, f"{entries} {MORE.get(what, '')}".split()))))
        for what, entries in _WORDS
    )


def called(plain: str) -> list[str]:
    """What a plain name says, the likeliest first.

    >>> called("geburtsdatum")[0], called("numero_paciente")[0], called("x7")
    ('date', 'record-number', [])
    """
    return [what for what, pattern in _compiled() if pattern.search(plain)]


_FOLDED = str.maketrans(
    {"ł": "l", "ø": "o", "ı": "i", "đ": "d", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"}
)


def plain_name(name: str) -> str:
    """A column's name in lower case and without accents, its words joined by underscores.

    >>> plain_name("PatientName"), plain_name("Straße, Nr."), plain_name("prénom")
    ('patient_name', 'strasse_nr', 'prenom')
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    folded = unicodedata.normalize("NFKD", words.casefold().translate(_FOLDED))
    bare = "".join(c for c in folded if unicodedata.category(c)[0] != "M")
    # Composed again, or a Korean syllable would be three letters.
    return re.sub(r"[\W_]+", "_", unicodedata.normalize("NFC", bare)).strip("_")
