(** Theorem 2 for the two streams of Theorem 1'': seen act by act they are a season, and every outcome has
    the same chances there. *)

From Coq Require Import ZArith QArith Lia Lqa List Bool.
Import ListNotations.
From Tarry Require Import Sums Streams Season Acts.
Open Scope Q_scope.

(** * Sets of ends of any course *)

(** The set of these paths. *)
Definition among (paths : list (list Z)) (path : list Z) : bool :=
  if in_dec (list_eq_dec Z.eq_dec) path paths then true else false.

(** Sets with the same members have the same chance. *)
Lemma chance_ext which t : forall ends others, (forall path, ends path = others path) ->
  chance_in which t ends == chance_in which t others.
Proof.
  induction t as [| differing n p q next IH]; intros ends others same; simpl.
  - rewrite same. reflexivity.
  - apply qsum_ext. intros i _. now rewrite (IH i _ (fun path => others (i :: path))).
Qed.

(** The empty set has none. *)
Lemma chance_none which t : forall ends, (forall path, ends path = false) -> chance_in which t ends == 0.
Proof.
  induction t as [| differing n p q next IH]; intros ends none; simpl.
  - rewrite none. reflexivity.
  - rewrite <- (qsum_zero n). apply qsum_ext. intros i _. rewrite IH by auto. ring.
Qed.

(** Chances of two sets without a common member add up. *)
Lemma chance_of_both which t : forall ends others, (forall path, ends path && others path = false) ->
  chance_in which t (fun path => ends path || others path) ==
  chance_in which t ends + chance_in which t others.
Proof.
  induction t as [| differing n p q next IH]; intros ends others apart; simpl.
  - specialize (apart []). destruct (ends []), (others []); simpl in *; try discriminate; ring.
  - rewrite <- qsum_add. apply qsum_ext. intros i _.
    rewrite (IH i (fun path => ends (i :: path)) (fun path => others (i :: path))) by auto. ring.
Qed.

(** One path: its first step, and the rest. *)
Lemma chance_of_a_path which differing n p q next j path :
  (forall i, (i < 0 \/ n <= i)%Z -> law_in which p q i == 0) ->
  chance_in which (See differing n p q next) (among [j :: path]) ==
  law_in which p q j * chance_in which (next j) (among [path]).
Proof.
  intros outside. simpl.
  assert (forall i, i <> j ->
    chance_in which (next i) (fun rest => among [j :: path] (i :: rest)) == 0) as other.
  { intros i differs. apply chance_none. intros rest. unfold among.
    destruct (in_dec _ _ _) as [[same | []] |]; [congruence | reflexivity]. }
  assert (chance_in which (next j) (fun rest => among [j :: path] (j :: rest)) ==
          chance_in which (next j) (among [path])) as this.
  { apply chance_ext. intros rest. unfold among.
    destruct (in_dec _ _ _) as [[same | []] | no], (in_dec _ _ [path]) as [[equal | []] | none];
      try reflexivity.
    - destruct none. left. congruence.
    - destruct no. left. congruence. }
  assert (0 <= j < n \/ (j < 0 \/ n <= j))%Z as [inside | beyond] by lia.
  - rewrite (qsum_single n j); [now rewrite this | assumption |].
    intros i differs. rewrite other by assumption. ring.
  - rewrite (outside j beyond), Qmult_0_l, <- (qsum_zero n). apply qsum_ext. intros i inside.
    rewrite other by lia. ring.
Qed.

(** * Two streams, act by act *)

Section TwoStreams.

Variables (D width G : Z) (b u : Z -> Z).
Hypothesis D_positive : (0 < D)%Z.
Hypothesis width_not_negative : (0 <= width)%Z.
Hypothesis G_not_negative : (0 <= G)%Z.
Hypothesis b_law : law D width b.
Hypothesis u_law : law D width u.

Variables (window hold : Z) (places : list (act * act)).
Hypothesis neighbours : forall x y, In (x, y) places -> may_stand_for window G places y x.

(** The law of an act of the true stream. *)
Definition law_of (x : act) : Z -> Z := if batched window (truth places) x then b else u.

(** The acts at these places as a season: what is seen of each is how long after [tick x + hold] it is
    released. *)
Fixpoint as_season (some : list (act * act)) : season :=
  match some with
  | [] => Done
  | (x, y) :: others =>
      if differs window places x y
      then Loses (tick y - tick x) (fun _ => as_season others)
      else Common width (over D (law_of x)) (fun _ => as_season others)
  end.

(** As many acts of it lose their label as Theorem 1'' counts. *)
Lemma a_stream_loses : loses_at_most width G (lost window places) (as_season places).
Proof.
  unfold lost.
  assert (forall some, incl some places ->
    loses_at_most width G (count_differing window places some) (as_season some)) as each.
  { induction some as [| [x y] some IH]; intros inside; simpl; [trivial |].
    assert (In (x, y) places) as here by now apply inside; left.
    specialize (IH (fun z there => inside z (or_intror there))).
    destruct (differs window places x y); simpl; split; auto.
    - now apply shift_in_range with (window := window) (places := places).
    - unfold law_of. destruct b_law, u_law, (batched window (truth places) x); now apply over_is_a_law. }
  apply each, incl_refl.
Qed.

(** The stream of each story, its act at a place, and the chance of a release there. *)
Definition stream_in (which : side) : list act :=
  match which with
  | Truth => truth places
  | Story => story places
  end.

Definition act_in (which : side) (place : act * act) : act :=
  match which with
  | Truth => fst place
  | Story => snd place
  end.

Definition seen (which : side) : list act -> list Z -> Q :=
  all_released window (over D b) (over D u) hold (stream_in which).

(** What is seen of an outcome in that season. *)
Fixpoint delays (some : list (act * act)) (outcome : list Z) : list Z :=
  match some, outcome with
  | (x, _) :: others, o :: more => (o - tick x - hold)%Z :: delays others more
  | _, _ => []
  end.

(** One act, in either story: its release has the chance that the season gives to its delay. *)
Lemma one_act which x y o : In (x, y) places ->
  release window (over D b) (over D u) hold (stream_in which) (act_in which (x, y)) o ==
  let i := (o - tick x - hold)%Z in
  if differs window places x y
  then law_in which (over D (later 0 b)) (over D (later (tick y - tick x) u)) i
  else over D (law_of x) i.
Proof.
  intros here. pose proof (labels_only_fall window G places neighbours x y here) as fall.
  pose proof (unbatched_stays window G places neighbours x y here) as stays.
  pose proof (batched_unchanged window G places neighbours x y here) as unchanged.
  unfold differs, law_of, release, over, later. cbv zeta.
  destruct which; simpl;
    destruct (batched window (truth places) x), (batched window (story places) y); simpl in *;
    try discriminate (fall eq_refl); try rewrite unchanged by reflexivity;
    try rewrite stays by reflexivity; rewrite ?Z.sub_0_r; try reflexivity.
  now replace (o - tick x - hold - (tick y - tick x))%Z with (o - tick y - hold)%Z by ring.
Qed.

(** Every outcome has the same chance in the stream and in the season, in either story. *)
Lemma same_chances which : forall some, incl some places -> forall outcome,
  length outcome = length some ->
  chance_in which (as_course D width G b u (as_season some)) (among [delays some outcome]) ==
  seen which (map (act_in which) some) outcome.
Proof.
  induction some as [| [x y] some IH]; intros inside [| o more] same; try discriminate; [reflexivity |].
  assert (In (x, y) places) as here by now apply inside; left.
  pose proof (shift_in_range window G G_not_negative places neighbours x y here) as shift.
  injection same as same. specialize (IH (fun z there => inside z (or_intror there)) more same).
  unfold seen in *. simpl map. simpl all_released. rewrite one_act, <- IH by assumption.
  assert (forall mass s i, law D width mass -> (0 <= s <= G)%Z -> (i < 0 \/ width + G <= i)%Z ->
    over D (later s mass) i == 0) as beyond.
  { intros mass s i [_ outside _] range far. unfold over, later. rewrite outside by lia.
    unfold Qdiv. ring. }
  simpl delays. simpl as_season. destruct (differs window places x y); simpl as_course.
  - rewrite chance_of_a_path; [reflexivity |]. intros i far. destruct which; simpl; apply beyond; auto; lia.
  - rewrite chance_of_a_path; [destruct which; reflexivity |].
    intros i far. replace (law_in which _ _ i) with (over D (law_of x) i) by now destruct which.
    unfold over, law_of. destruct b_law as [_ b_out _], u_law as [_ u_out _].
    destruct (batched window (truth places) x); rewrite ?b_out, ?u_out by assumption; unfold Qdiv; ring.
Qed.

(** Different outcomes are different paths. *)
Lemma delays_differ some : forall outcome other,
  length outcome = length some -> length other = length some ->
  delays some outcome = delays some other -> outcome = other.
Proof.
  induction some as [| [x y] some IH]; intros [| o more] [| o' more']; simpl; try discriminate; auto.
  intros long long' same. injection same as here rest. f_equal; [lia | now apply IH; congruence].
Qed.

(** So a list of outcomes, each of them once, has the chance of the set of its paths. *)
Lemma same_chances_of_any which : forall outcomes, NoDup outcomes ->
  (forall outcome, In outcome outcomes -> length outcome = length places) ->
  chance_in which (as_course D width G b u (as_season places)) (among (map (delays places) outcomes)) ==
  chance_of_any window (over D b) (over D u) hold (stream_in which) outcomes.
Proof.
  set (t := as_course D width G b u (as_season places)).
  induction outcomes as [| outcome outcomes IH]; intros once lengths; simpl.
  - now apply chance_none.
  - inversion once as [| ? ? new others]. subst.
    rewrite <- IH by (try assumption; intros; apply lengths; now right).
    assert (chance_in which t (among [delays places outcome]) ==
      chance window (over D b) (over D u) hold (stream_in which) outcome) as this.
    { unfold t. rewrite same_chances by (apply incl_refl || now apply lengths; left).
      unfold seen, chance, stream_in, truth, story. destruct which; reflexivity. }
    rewrite <- this, <- chance_of_both.
    + apply chance_ext. intros path. unfold among.
      destruct (in_dec _ _ (_ :: _)) as [[same | there] | no], (in_dec _ _ [_]) as [[equal | []] | none],
        (in_dec _ _ (map _ _)) as [there' | no']; simpl; try reflexivity; exfalso; simpl in *; tauto.
    + intros path. unfold among.
      destruct (in_dec _ _ [_]) as [[<- | []] | none]; [| reflexivity].
      destruct (in_dec _ _ (map _ _)) as [there | no]; [| reflexivity]. exfalso.
      apply in_map_iff in there as (other & same & there). apply new.
      replace outcome with other; [assumption |].
      apply (delays_differ places); [| | assumption]; apply lengths; simpl; auto.
Qed.

(** The pair (P, Q) of Theorem 2. *)
Variables (k : Z) (P Q' : Z -> Q).
Hypothesis P_is_a_law : is_law k P.
Hypothesis Q_is_a_law : is_law k Q'.
Hypothesis covers : forall s, (0 <= s <= G)%Z ->
  dominated k P Q' (width + G) (over D (later 0 b)) (over D (later s u)).

(** (c) in (d): whatever set of outcomes is seen, in truth it is at most c times as likely as in the story,
    and H_c of as many copies of (P, Q) as labels differ more. *)
Theorem stream_costs : forall outcomes, NoDup outcomes ->
  (forall outcome, In outcome outcomes -> length outcome = length places) ->
  forall c, 0 <= c ->
  chance_of_any window (over D b) (over D u) hold (truth places) outcomes <=
  c * chance_of_any window (over D b) (over D u) hold (story places) outcomes +
  H_copies k P Q' (lost window places) 1 c.
Proof.
  intros outcomes once lengths c positive.
  pose proof (same_chances_of_any Truth outcomes once lengths) as in_truth.
  pose proof (same_chances_of_any Story outcomes once lengths) as in_story. simpl stream_in in *.
  rewrite <- in_truth, <- in_story. apply season_costs; try assumption. apply a_stream_loses.
Qed.

End TwoStreams.
