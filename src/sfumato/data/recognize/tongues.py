"""Words in the names of columns in further languages and scripts: Swedish, Danish, Norwegian,
Finnish, Turkish, Czech, Hungarian, Romanian, Croatian, Vietnamese, Indonesian, Swahili, Russian,
Ukrainian, Greek, Arabic, Persian, Hebrew, Hindi, Chinese, Japanese and Korean.

Entries are written as in words.py. Chinese and Japanese part no words: theirs are open at both
ends, unless they are so short that they begin or end other words.
"""

from __future__ import annotations

import re

MORE: dict[str, str] = {
    "e-mail": "e_post* epost* sahkoposti* eposta* почт* электронная_почта* *メール* *邮箱* "
    "*电邮* *電子郵件* *이메일* *بريد* ηλεκτρονικ* thu_dien_tu barua_pepe",
    "telephone": "puhelin* telefonszam* mobilnum* matkapuhelin* gsm_no cep_tel* dien_thoai* "
    "so_dien_thoai simu nomor_telepon no_hp телефон* мобильн* τηλεφων* κινητο* *هاتف* *جوال* "
    "*موبايل* *تلفن* *טלפון* फोन* मोबाइल* *电话* *電話* *手机* *手機* *携帯* *전화* *휴대*",
    "national-number": "fodselsnummer* fodselsnr cpr cpr_nr henkilotunnus* hetu tc_kimlik* tckn "
    "kimlik_no rodne_cislo* szemelyi_szam* taj_szam cnp oib jmbg cmnd cccd so_cmnd nik снилс инн "
    "паспорт* αφμ αμκα *الهوية* *رقم_قومي* *الرقم_القومي* *کد_ملی* *תעודת_זהות* आधार* *身份证* "
    "*身分證* *マイナンバー* *주민등록* *주민번호*",
    "health-number": "снилс полис* *保険証* *保険者番号* *医保* *健保*",
    "other-person": "chef# mamma# pappa# mor# far# aiti# isa# anne# baba# matky# otce# anya# "
    "apa# foraldrar# husband# wife# son# daughter# nachbar# boss# leder# esimies#",
    "record-number": "anstallningsnr* anstallningsnummer* journalnummer* journalnr* patientnr* "
    "lopnr lopnummer* asiakas# potilas# potilasnumero* hasta# hasta_no ogrenci# ogrenci_no "
    "personel# sicil_no dosya_no pacient# cislo_pacienta torzsszam* elev# ma_so* ma_benh_nhan "
    "ma_nhan_vien номер_карты* номер_пациента номер_истории* табельн* код_пациента "
    "αριθμος_φακελου κωδικος_ασθεν* *رقم_الملف* *رقم_المريض* *رقم_الموظف* *病歴番号* *病历号* "
    "*患者番号* *患者id* *患者号* *カルテ番号* *社員番号* *职工号* *工号* *学号* *学籍番号* "
    "*受付番号* *住院号* *환자번호* *사번* *학번* *등록번호*",
    "account": "kontonr* tilinumero* hesap_no* cislo_uctu* szamlaszam* so_tai_khoan "
    "номер_счета* расчетный_счет* *رقم_الحساب* *银行卡* *账号* *口座* *계좌*",
    "licence": "korkort* forerkort* ajokortti* ehliyet* pasaport* vodicsky* ho_chieu "
    "водительск* *جواز* *رخصة* *护照* *驾驶证* *パスポート* *旅券* *免許* *여권* *면허*",
    "plate": "registreringsnummer* bilnummer* nummerplate* rekisterinumero* plaka* rendszam* "
    "bien_so госномер* *車両番号* *车牌* *لوحة*",
    "name": "*_namn tilltalsnamn* pikemavn* pigenavn* mellomnavn* *_navn kutsumanimi* =nimi "
    "*_nimi =ad =adi ad_soyad* adi_soyadi* =adsoyad isim_* krestni_jmeno jmeno_* *_jmeno "
    "csaladnev* utonev* teljes_nev *_neve anyja_neve nume_* *_nume =ime ime_* prezime* =ho =ten "
    "ho_ten* ho_va_ten* ten_dem =jina jina_* majina =nama nama_* =elev =uczen =uczniowie "
    "=pacjent =pacjentka =patienten =mitarbeiter =schuler =paciente =paziente =assinante "
    "=cliente =klient =klientka =lakare =lege =laege =ogrenci =hasta =doktor =hekim =ogretmen "
    "=opettaja =larare =laerer =hoitaja =laakari =anhorig =narmast_anhorig фамили* =имя =фио "
    "отчеств* имя_* *_имя =пациент =больнои =врач =лечащии_врач =учитель =клиент ім_я прізвищ* "
    "побатьков* =піб ονομα* *_ονομα επωνυμ* επιθετο* ονοματεπωνυμ* πατρωνυμ* ασθενης =ιατρος "
    "=ιατρος_* اسم* الاسم* *_اسم *_الاسم اللقب* لقب* نام* *نام_خانوادگی* =المريض =الطبيب =طبيب "
    "שם* *_שם משפחה नाम* *_नाम उपनाम* =姓 =名 =氏 *姓名* *氏名* *名前* *フリガナ* *ふりがな* "
    "*カナ氏名* *苗字* *名字* 患者名 *_姓 *_名 =セイ =メイ *担当医* *主治医* *主治医生* *担任* "
    "*联系人* =患者 *이름* *성명* *성함* =성 *담당의*",
    "address": "=gata gata_* gatuadress* =vej vejnavn* =gate gateadress* osoite* katuosoite* "
    "lahiosoite* =adresi *_adresi ev_adres* =cim lakcim* =ulice adresa* dia_chi* anwani alamat* "
    "адрес* улиц* =дом διευθυνσ* οδος* عنوان* العنوان* *_العنوان آدرس* כתובת* पता* *住所* *地址* "
    "*住址* *주소*",
    "postal-code": "postnumero* posta_kodu* psc iranyitoszam* cod_postal* ma_buu_chinh kode_pos "
    "почтовый_индекс* =индекс ταχυδρομικ* =τκ *الرمز_البريدي* *郵便番号* *邮编* *邮政编码* "
    "*우편번호*",
    "coordinate": "широта* долгота* γεωγραφικ* *خط_العرض* *خط_الطول* *緯度* *経度* *纬度* "
    "*经度* *위도* *경도* leveysaste* pituusaste* enlem* boylam* bredgrad* lengdegrad* vi_do "
    "kinh_do",
    "household": "hushall# =hushall husstand# =husstand =husholdning husholdning# kotitalous# "
    "=kotitalous =talous hane# =hane aile# =aile =ailesi ailekodu domacnost# =domacnost "
    "haztartas# =haztartas gospodarie# kucanstvo# domacinstvo# =ho_gia_dinh ho_gia_dinh# kaya "
    "keluarga# =keluarga gezin# =gezin =gezinnen familie# =familie familj# =familj =famiglia "
    "=famille =familia =rodzina =family =fam fam# =familias =hushallet =sippe семь* =семья "
    "семьи# домохозяйств* οικογενει* νοικοκυρι* *أسرة* *عائلة* *خانوار* *世帯* *家庭番号* "
    "*家庭编号* *户号* *가구*",
    "place": "=ort hemort* bostadsort* kommun* stad bostad poststed* fodested* kunta* "
    "kotikunta* kaupunki* paikkakunta* syntymapaikka* ilce* sehir* dogum_yeri* mesto mesto_* "
    "obec* okres* varos* telepules* szuletesi_hely oras* judet* quan_huyen* thanh_pho* "
    "xa_phuong* mji kecamatan* kabupaten* kota* город* населенныи_пункт* раион* место_рождения* "
    "πολη* δημος* τοπος_γεν* مدينة* المدينة* محل_الميلاد* شهر* עיר* शहर* गांव* *城市* *市町村* "
    "*市区町村* *出生地* *区县* *도시* *시군구*",
    "age": "alder* =ika ikavuodet =yas yas_* =vek =kor eletkor* varsta* starost* tuoi umur* "
    "usia* umri возраст* лет ηλικια* عمر* العمر* سن גיל* आयु* उम्र* *年齢* *年龄* *나이* *연령*",
    "year": "*_ar fodelsear* fodselsar* =ar vuosi* syntymavuosi* yil* dogum_yili rok_* =ev "
    "szuletesi_ev an_nastere* nam_sinh mwaka tahun* год* год_рождения* ετος* سنة* *生年* "
    "*出生年* *연도* *출생년*",
    "date": "fodelsedat* fodelsedag* fodselsdat* fodselsdag* fodt* syntymaaika* syntymapaiva* "
    "*paivamaara* *_pvm pvm_* tarih* *_tarihi dogum* datum_* narozen* szuletes* *_datuma "
    "nastere* data_nasterii datum_rodenja ngay* ngay_sinh* tarehe* tanggal* tgl_* дата* *_дата "
    "родилс* ημερομηνι* ημ_νια* γεννησ* تاريخ* *_تاريخ تولد* תאריך* दिनांक* जन्म* *生年月日* "
    "*日期* *年月日* *日付* *日時* *时间* *生日* *誕生日* *出生日* *입원일* *생년월일* *날짜* "
    "anstalld_sedan* ansatt* *datetime*",
    "weight": "vaegt* vekt* vikt* =painokerroin painokerroin* agirlik* vaha_* sulyo* pondere* "
    "ponder* expansion_factor* *expansion_f* raising_factor* grossing* factor_expan* fexp* "
    "fator_exp* facteur_ponder* facteur_exp* hochrechnungsfaktor* extrapolation* =w =wts "
    "weights* вес веса_* взвеш* βαρος_* σταθμ* *ウェイト* *加权* *权重* *가중*",
    "trait": "=kon kjonn* sukupuoli* cinsiyet* pohlavi* gioi_tinh* jinsia jenis_kelamin* spol* "
    "civilstand* sivilstatus* siviilisaaty* medeni_hal* rodinny_stav* csaladi_allapot* "
    "stare_civila* hon_nhan* yrke* ammatti* meslek* povolani* foglalkozas* ocupati* nghe_nghiep* "
    "pekerjaan* kazi utbildning* utdanning* uddannelse* koulutus* egitim* vzdelani* vegzettseg* "
    "trinh_do* =пол образовани* професси* должност* семеиное_положение* φυλο* επαγγελμα* "
    "εκπαιδευσ* οικογενειακη_κατασταση* جنس* الجنس* مهنة* المهنة* الحالة_الاجتماعية* שכר מין "
    "מקצוע लिंग* *性別* *性别* *职业* *職業* *学历* *学歴* *婚姻* *婚姻状況* *성별* *직업* "
    "*학력* avdelning* tjanstgoring*",
    "region": "=lan landskap* fylke* maakunta* bolge* kraj_* megye* tinh provinsi* область* "
    "регион* стран* гражданств* νομος* περιφερει* χωρα* υπηκοοτητα* محافظة* المحافظة* دولة* "
    "جنسية* الجنسية* *都道府県* *国籍* *國籍* *省份* *국적* kansalaisuus* uyruk* vatandaslik* "
    "medborgarskap* quoc_tich*",
    "diagnosis": "диагноз* διαγνωσ* تشخيص* التشخيص* *診断* *病名* *诊断* *疾患* *진단* sairau* "
    "diagnoos* hastalik* =tani chan_doan* sygdom* sykdom* sjukdom* betegseg* boala* nemoc*",
    "private": "=lon lon_* manadslon* arslon* timlon* *inkomst* loen* *_loen indkomst* inntekt* "
    "palkka* tulot* =maas gelir* ucret* =plat =prijem prijmy fizetes* jovedelem* salariu* venit* "
    "luong* thu_nhap* mshahara gaji* зарплат* доход* оклад* μισθο* εισοδημα* راتب* الراتب* دخل* "
    "*給与* *年収* *月収* *收入* *工资* *薪* *급여* *소득* sjukdagar* sykedager* vertrau* "
    "wahlabsicht* wahlverhalten* bundestagswahl* zweitstimme* erststimme* confianc* confianz* "
    "fiducia* zaufan* vertrouw* fortroende* tillit* luottamus* guven* dover* intencion_voto* "
    "intenzione_voto* intention_de_vote* =voto voto_* glosow* stemgedrag* meinung* einstellung* "
    "zadowol* tevreden* soddisf* schmerz* pain pains *_pain douleur* dolor* dolore* creat* kreat* "
    "suicid* suizid* stress*",
    "free-text": "anm bem =nb pozn obs =rem "
    "anmarkning* merknad* bemaerkning* huomio* huomaut* lisatieto* kommentti* "
    "notlar* aciklama* yorum* popis* megjegyzes* leiras* observatii* mentiuni* napomen* ghi_chu* "
    "nhan_xet* maoni catatan* keterangan* примечан* комментар* заметк* описани* жалоб* анамнез* "
    "примітк* σχολι* παρατηρησ* σημειωσ* ملاحظ* الملاحظ* تعليق* التعليق* توضیح* یادداشت* הערות* "
    "टिप्पणी* *備考* *所見* *備註* *备注* *コメント* *メモ* *特記事項* *経過* *主訴* *主诉* "
    "*现病史* *既往歴* *既往史* *说明* *說明* *评语* *摘要* *자유기술* *비고* *메모* *특이사항* "
    "*소견* *의견*",
    "photograph": "valokuva* fenykep* фото* φωτογραφ* *照片* *写真* *사진*",
}
"""Further entries, by what they mean."""
OPINION = re.compile(
    r"trust|vertrau|confian[cz]|fiducia|zaufan|vertrouw|fortroende|tillit|luottam|doveri"
    r"|(^|_)(vot(e|ed|es|ing)|voto)(_|$)|vote_|wahl(absicht|verhalt|entsch)|bundestagswahl|parteineig"
    r"|opinion|meinung|attitude|einstellung|agree|zustimm|satisf|zufried|approv|left_right|links_rechts"
    r"|politic|politik|politiq|diabet|epilep|asthm|depress|cancer|krebs|hiv_|creatinin|kreatinin"
)
"""Words in names and labels by which a column is about an opinion or an illness, whatever else its
words mean: "trust in the country's parliament" is no country."""
